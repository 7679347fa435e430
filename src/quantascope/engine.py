"""Where independent pieces of work run: a `concurrent.futures.Executor`.

The local engine is a pool of processes with a fixed number of threads each, so that all of them together do
not ask for more cores than there are.
"""

import multiprocessing
import os
import signal
from concurrent.futures import Executor, ProcessPoolExecutor

import torch

from quantascope.errors import InvalidConfig


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def local_engine(*, threads: int = 1, workers: int | None = None) -> Executor:
    """A pool of processes, by default as many as the cores hold at `threads` each."""
    if threads < 1 or (workers is not None and workers < 1):
        raise InvalidConfig(f"threads and workers must be at least 1, got {threads} and {workers}")
    return ProcessPoolExecutor(
        max_workers=workers or max(1, cores() // threads),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_prepare_worker,
        initargs=(threads,),
    )


def _prepare_worker(threads: int) -> None:
    """Ctrl-C reaches the whole process group; the parent alone answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(threads)
