"""Where independent pieces of work run: a `concurrent.futures.Executor`.

The local engine is a pool of processes with a fixed number of threads each, so that all of them together do
not ask for more cores than there are. Workers live no longer than the process that started them.
"""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager

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


def stop(engine: Executor) -> None:
    """Ask an engine's local workers to save what they are doing and end."""
    workers = list((getattr(engine, "_processes", None) or {}).values())
    engine.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Processes that are started inside never see Ctrl-C, which reaches the whole group; this one does, after."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare_worker(threads: int) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch  # here, so that a starting worker is watched before anything slow

    torch.set_num_threads(threads)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
