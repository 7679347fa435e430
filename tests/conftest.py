import numpy as np
import pytest
import torch
from hypothesis import settings

# The cores are shared: a slow moment of the machine is no failure of a test.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")
torch.set_num_threads(1)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
