"""How near a computation comes to what the machine can do at the sizes of its own operations.

Every operation that is dispatched is counted: its multiplications and additions, if it is a matrix product, and
the bytes that it reads and writes; views cost nothing. It cannot take less time than its operations at the
rate of a plain matrix product, nor less than its bytes at the rate of a plain copy, both of the size of the
computation and timed beside it. The sum of these bounds over all operations, as a share of the time taken, says
how much could be won by writing the same operations better.

Small operations come nowhere near these rates, and each takes a microsecond or two before it begins. So every
operation is also repeated alone, on the same numbers, and its fastest time is noted. Their sum, as a share of the
time taken, is what torch's own kernels leave no choice about; the rest is spent between them.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

ROUNDS = 9
REPEATS = 3


@dataclass(frozen=True)
class Roofline:
    """Rates of a computation in one thread, those of plain operations of its size, and the share of the bound."""

    cpu_seconds: float
    flops_per_second: float
    bytes_per_second: float
    matmul_flops_per_second: float
    copy_bytes_per_second: float
    share_of_bound: float
    operations: int
    share_of_kernels: float

    @classmethod
    def of(cls, work: Callable[[], object], *, rows: int, inner: int, outer: int) -> "Roofline":
        """Of work whose typical product is of rows × inner with inner × outer numbers."""
        left, right = torch.randn(rows, inner), torch.randn(inner, outer)
        product, copy = torch.empty(rows, outer), torch.empty(rows, inner)
        taken = medians(
            {
                "work": work,
                "matmul": lambda: [torch.mm(left, right, out=product) for _ in range(20)],
                "copy": lambda: [copy.copy_(left) for _ in range(20)],
            },
            ROUNDS,
        )
        matmul = 20 * 2 * rows * inner * outer / taken["matmul"]
        copied = 20 * 2 * left.nbytes / taken["copy"]
        with _Operations() as counted:
            work()
        bound = sum(max(one.flops / matmul, one.moved / copied) for one in counted.each)
        seconds = taken["work"]
        return cls(
            cpu_seconds=seconds,
            flops_per_second=sum(one.flops for one in counted.each) / seconds,
            bytes_per_second=sum(one.moved for one in counted.each) / seconds,
            matmul_flops_per_second=matmul,
            copy_bytes_per_second=copied,
            share_of_bound=bound / seconds,
            operations=len(counted.each),
            share_of_kernels=sum(one.seconds for one in counted.each) / seconds,
        )


@dataclass(frozen=True)
class _Operation:
    """Multiplications and additions, bytes, and CPU seconds alone; what changes its input is run once."""

    flops: float
    moved: float
    seconds: float


class _Operations(TorchDispatchMode):
    """Notes every operation that is dispatched inside, except views."""

    def __init__(self) -> None:
        super().__init__()
        self.each: list[_Operation] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        seconds, out = _timed(func, args, kwargs)
        if not func.is_view:
            count = flop_registry.get(func.overloadpacket)
            flops = float(count(*args, **kwargs, out_val=out)) if count else 0.0
            moved = float(sum(one.nbytes for one in tree_leaves((args, kwargs, out)) if isinstance(one, Tensor)))
            if not func._schema.is_mutable:
                seconds = min(seconds, *(_timed(func, args, kwargs)[0] for _ in range(REPEATS)))
            self.each.append(_Operation(flops, moved, seconds))
        return out


def _timed(func: Any, args: Any, kwargs: Any) -> tuple[float, Any]:
    began = time.thread_time()
    out = func(*args, **kwargs)
    return time.thread_time() - began, out


def medians(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """CPU seconds of each, over alternating rounds after one that warms up."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds + 1):
        for name, work in works.items():
            began = time.process_time()
            work()
            taken[name].append(time.process_time() - began)
    return {name: statistics.median(values[1:]) for name, values in taken.items()}
