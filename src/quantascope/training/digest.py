"""A digest of a checkpoint's content, independent of its file names and shards."""

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor


def tensor_digest(tensors: Mapping[str, Tensor]) -> str:
    """A hash of all names, dtypes, shapes and bytes.

    >>> one = {"weight": torch.zeros(2), "bias": torch.zeros(1)}
    >>> tensor_digest(one) == tensor_digest(dict(reversed(one.items())))
    True
    >>> tensor_digest(one) == tensor_digest({**one, "bias": -torch.zeros(1)})
    False
    """
    found = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {list(tensor.shape)} ".encode())
        found.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return found.hexdigest()
