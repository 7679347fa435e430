"""Where the weights of a network are drawn from: a seed, or where an earlier drawing ended."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

Start = int | Tensor
"""A seed, or a state of torch's global generator."""


@contextmanager
def drawing(start: Start) -> Iterator[None]:
    """Draw from torch's global generator from here on; afterwards it is as it was before.

    >>> with drawing(3):
    ...     first, end = torch.rand(1), torch.get_rng_state()
    ...     second = torch.rand(1)
    >>> with drawing(end):
    ...     torch.equal(torch.rand(1), second)
    True
    """
    with torch.random.fork_rng(devices=[]):
        if isinstance(start, Tensor):
            torch.set_rng_state(start)
        else:
            torch.manual_seed(start)
        yield
