"""A second device, simulated: no machine of ours has a GPU.

Its tensors say that they are on `meta`. Their values are in ordinary memory, and the kernels of the CPU compute on
them, forward and backward. As on a GPU, an operation on tensors of two devices is an error, except that indices
and tensors without dimensions may be on the CPU. So is `numpy()` without a copy to the CPU. Random numbers drawn
on the device are not those that the CPU draws.

A run on this device must give the numbers of the CPU bit for bit. This shows tensors that are made without a
device, random numbers that are drawn elsewhere, and files that are written or read on the wrong side.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from quantascope.models import device as devices

THERE = torch.device("meta")
aten = torch.ops.aten
COPIES = (aten._to_copy.default, aten.copy_.default)
INDEXED = (aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default)


class There(Tensor):
    """A tensor of the second device; its values are in `inner`."""

    inner: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner: Tensor) -> "There":
        shape, strides, offset = inner.shape, inner.stride(), inner.storage_offset()
        made = torch.Tensor._make_wrapper_subclass(
            cls, shape, strides=strides, storage_offset=offset, dtype=inner.dtype, device=THERE
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return computed(func, args, kwargs or {})

    def __getitem__(self, index: Any) -> Tensor:
        # torch makes the tensor of a list by itself, on the device that it is told, which has no values.
        return super().__getitem__(There(torch.tensor(index)) if isinstance(index, list) else index)

    def tolist(self) -> Any:
        return self.inner.tolist()

    def data_ptr(self) -> int:
        return self.inner.data_ptr()

    def __repr__(self, **_: Any) -> str:
        return f"There({self.inner})"


def computed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of an operation, on the device that is asked for or that of its arguments."""
    tensors = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
    there = [one for one in tensors if isinstance(one, There)]
    asked = kwargs.get("device")
    if not there and (asked is None or torch.device(asked) != THERE):
        return func(*args, **kwargs)
    if there and any(one.is_meta for one in tensors if not isinstance(one, There)):
        # A network that is only outlined, without values: torch makes tensors of lists on `meta` by itself.
        args, kwargs = tree_map_only(There, lambda one: one.inner.to("meta"), (args, kwargs))
        return func(*args, **kwargs)
    if there and func not in COPIES:
        checked = args[:1] + args[2:] if func in INDEXED else args
        for one in tree_leaves((checked, kwargs)):
            here = isinstance(one, Tensor) and not isinstance(one, There)
            assert not here or not one.dim(), f"{func} has tensors on two devices"
    if asked is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    onto = torch.device(asked) == THERE if asked is not None else True
    known = {id(one.inner): one for one in there}
    plain = tree_map_only(There, lambda one: one.inner, (args, kwargs))
    with _other_numbers() if onto and torch.Tag.nondeterministic_seeded in func.tags else contextlib.nullcontext():
        out = func(*plain[0], **plain[1])
    if func is aten.copy_.default:
        return args[0]

    def result(one: Tensor) -> Tensor:
        return known[id(one)] if id(one) in known else There(one) if onto else one

    return tree_map_only(Tensor, result, out)


@contextlib.contextmanager
def _other_numbers() -> Iterator[None]:
    """What the device draws by itself; the generator of the CPU stays as it is."""
    before = torch.get_rng_state()
    torch.default_generator.manual_seed(99)
    yield
    torch.set_rng_state(before)


class _SecondDevice(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return computed(func, args, kwargs or {})


@pytest.fixture(scope="session")
def second_device() -> Callable[[], contextlib.AbstractContextManager[str]]:
    """A context in which there is a second device; it gives the name."""
    optimizer = sys.modules["torch.optim.optimizer"]
    fused = optimizer._get_fused_kernels_supported_devices()

    @contextlib.contextmanager
    def there() -> Iterator[str]:
        with pytest.MonkeyPatch.context() as patch, _SecondDevice():
            patch.setattr(devices, "NAMES", "cpu|meta")
            patch.setattr(optimizer, "_get_fused_kernels_supported_devices", lambda: [*fused, "meta"])
            yield "meta"

    return there
