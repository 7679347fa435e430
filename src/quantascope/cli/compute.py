"""Where a command computes: the flags that several commands share."""

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
    """How one process computes."""

    threads: int = 1
    """Threads of each process."""
    device: Device = None
    """Where networks run; on the CPU if not given, or where the Source of a FILE.py says."""

    @property
    def chosen_device(self) -> str:
        """The device, for what has none of its own."""
        return self.device or "cpu"

    def begin(self) -> None:
        """Let this process compute so; refused if the device is not there."""
        from quantascope.models.device import find_device

        use_threads(self.threads)
        find_device(self.chosen_device)


@dataclass(frozen=True, kw_only=True)
class Compute(Process):
    """How the processes of an engine compute."""

    engine: Engine = LOCAL
    """Where work is done: by processes of this machine, or by the workers of a dask scheduler."""
    workers: Number = None
    """Processes; as many as the cores hold if not given."""

    @property
    def processes(self) -> int:
        """Processes of this machine; of a cluster, one is known."""
        return (self.workers or max(1, cores() // self.threads)) if self.engine == LOCAL else 1

    def pool(self) -> Executor:
        """The engine."""
        return open_engine(self.engine, threads=self.threads, workers=self.workers)


ProcessFlags = Annotated[Process, tyro.conf.arg(name="")]
ComputeFlags = Annotated[Compute, tyro.conf.arg(name="")]
ONE_PROCESS, ALL_CORES = Process(), Compute()
"""What the flags say if none is given."""
