"""The tasks that networks learn here."""
