"""Compute flags (threads, device, processes) that several commands share."""

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Annotated

import tyro

from quantascope.cli.arguments import Number
from quantascope.runs.engine import LOCAL, cores, open_engine, use_threads

Engine = Annotated[str, tyro.conf.arg(metavar="local|dask://HOST:PORT|tls://HOST:PORT")]
Device = Annotated[str | None, tyro.conf.arg(metavar="cpu|cuda|cuda:N|mps", help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class Process:
    """Threads and device of one process."""

    threads: int = 1
    """Threads of each process."""
    device: Device = None
    """Device that networks run on. Default: the device of the Source for a FILE.py, else the CPU."""

    @property
    def chosen_device(self) -> str:
        """The chosen device, or the CPU if none was given."""
        return self.device or "cpu"

    def begin(self) -> None:
        """Apply these settings to this process; raises if the device is not available."""
        from quantascope.models.device import find_device

        use_threads(self.threads)
        find_device(self.chosen_device)


@dataclass(frozen=True, kw_only=True)
class Compute(Process):
    """Where and with how many processes an engine runs its jobs."""

    engine: Engine = LOCAL
    """Run jobs in processes of this machine, or on the workers of a dask scheduler."""
    workers: Number = None
    """Number of processes. Default: as many as the cores allow."""

    @property
    def processes(self) -> int:
        """Number of processes of this machine; 1 for a cluster."""
        return (self.workers or max(1, cores() // self.threads)) if self.engine == LOCAL else 1

    def pool(self) -> Executor:
        """The engine."""
        return open_engine(self.engine, threads=self.threads, workers=self.workers)


ProcessFlags = Annotated[Process, tyro.conf.arg(name="")]
ComputeFlags = Annotated[Compute, tyro.conf.arg(name="")]
ONE_PROCESS, ALL_CORES = Process(), Compute()
"""The settings when no flag is given."""
