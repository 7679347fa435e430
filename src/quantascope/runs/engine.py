"""Engines that run independent jobs: each is a `concurrent.futures.Executor`.

`local` is a pool of processes with a fixed number of threads each, so that together they do not use more cores
than available. Workers end with the process that started them. `dask://HOST:PORT` is a dask.distributed cluster;
if a worker dies, another one repeats its job.
"""

import logging
import multiprocessing
import multiprocessing.connection
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from quantascope.runs.errors import EngineFailed, InvalidConfig
from quantascope.runs.interruption import deferred

LOCAL = "local"
_SECONDS_TO_CONNECT = 10
_MOST_ON_ANY = 256
"""Threads or workers that even a small machine can start."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_threads(threads: int) -> None:
    """Set the number of threads of this process."""
    _check_share(threads=threads)
    import torch

    torch.set_num_threads(threads)


def _check_share(**asked: int) -> None:
    """Raise if the number of threads or workers is below 1 or too large for the cores."""
    most = max(_MOST_ON_ANY, 8 * cores())
    for name, number in asked.items():
        if not 1 <= number <= most:
            raise InvalidConfig(
                f"{number} {name} cannot share {cores()} cores; give at least 1 and at most {most}"
            )


def open_engine(address: str = LOCAL, *, threads: int = 1, workers: int | None = None) -> Executor:
    """Open an engine: `local`, or a dask scheduler at `dask://HOST:PORT` or `tls://HOST:PORT`.

    TLS certificates come from dask's settings.

    >>> with open_engine("local", workers=1) as engine:
    ...     engine.submit(pow, 2, 10).result()
    1024
    """
    if address == LOCAL:
        return local_engine(threads=threads, workers=workers)
    if not re.fullmatch(r"(dask|tls)://[^\s/:]+:\d+", address):
        raise InvalidConfig(f"'{address}' is not an engine; give local, dask://HOST:PORT or tls://HOST:PORT")
    if workers is not None:
        raise InvalidConfig(f"the number of workers of {address} is fixed; leave out --workers")
    return _dask_engine(address, threads=threads)


def local_engine(*, threads: int = 1, workers: int | None = None) -> Executor:
    """A pool of processes, by default as many as fit the cores with `threads` each."""
    _check_share(threads=threads, workers=1 if workers is None else workers)
    # Otherwise workers would import modules from the current folder first, which may be another person's run.
    os.environ["PYTHONSAFEPATH"] = "1"
    return ProcessPoolExecutor(
        max_workers=workers or max(1, cores() // threads),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_prepare_worker,
        initargs=(threads,),
    )


def _dask_engine(address: str, *, threads: int) -> Executor:
    _check_share(threads=threads)
    try:
        import dask.config
        from distributed import Client
    except ImportError:
        raise InvalidConfig(f"{address} needs dask; install quantascope[cluster]") from None
    if address.startswith("tls://") and not dask.config.get("distributed.comm.tls.ca-file", None):
        raise InvalidConfig(
            f"dask has no certificates for {address}; give it distributed.comm.tls in its settings, or use dask://"
        )
    scheduler = address.replace("dask://", "tcp://")
    try:
        client = Client(scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise EngineFailed(
            f"no scheduler answers at {address}; start one there (dask scheduler) or use --engine local"
        ) from error
    if not client.scheduler_info()["workers"]:
        logging.getLogger(__name__).warning(
            "quantascope: %s has no workers yet; runs wait for the first (dask worker %s)",
            address,
            scheduler,
        )
    return _DaskEngine(client, threads)


class _DaskEngine(Executor):
    """The client's executor, which sets torch's threads for each job and closes the client at its end."""

    def __init__(self, client: Any, threads: int) -> None:
        self._client, self._threads = client, threads
        self._executor = client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run fn(*args, **kwargs) on a worker."""
        return self._executor.submit(_with_threads, self._threads, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for running jobs if `wait`, and close the client."""
        if self._client.status == "running":
            self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close(timeout=_SECONDS_TO_CONNECT)


def stop(engine: Executor) -> None:
    """Ask an engine's local workers to save their state and stop."""
    workers = list((getattr(engine, "_processes", None) or {}).values())
    engine.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()


def engine_failure(error: BaseException) -> EngineFailed | None:
    """The engine failure that an error means; None if the job itself failed."""
    name = type(error).__name__
    if name == "BrokenProcessPool":
        what = "a worker process died, perhaps out of memory"
    elif name == "KilledWorker":
        what = "several workers died on the same run, perhaps out of memory"
    elif name in ("CancelledError", "FutureCancelledError", "CommClosedError"):
        what = "the connection to the engine was lost"
    elif isinstance(error, ModuleNotFoundError):
        return EngineFailed(f"a worker has no module '{error.name}'; install the same quantascope on all machines")
    else:
        return None
    return EngineFailed(f"{what}; run the same command to resume")


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Context manager that blocks Ctrl-C for processes started inside; this process receives it afterwards.

    The mask is meant for the children. Another thread of this process may still receive the signal.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with deferred() as asked_to_end:
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if asked_to_end():
        raise KeyboardInterrupt


def _with_threads(threads: int, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    import torch

    torch.set_num_threads(threads)
    return fn(*args, **kwargs)


def _prepare_worker(threads: int) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch  # imported here, so that a starting worker is watched before slow imports

    torch.set_num_threads(threads)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
