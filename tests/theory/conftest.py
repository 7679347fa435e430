from hypothesis import settings

# The cores are shared: a slow moment of the machine is no failure of a test.
settings.register_profile("theory", deadline=None)
settings.load_profile("theory")
