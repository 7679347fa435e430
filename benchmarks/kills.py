"""Kill every command again and again, resume it, and compare every byte with a run that nobody killed.

    python benchmarks/kills.py             every command: at each fsync and rename, at random moments, its workers
    python benchmarks/kills.py --most 40   at no more than 40 of its syncs and renames, drawn with a seed
    python benchmarks/kills.py --quick     three renames of one command, as the test-suite kills it
    python benchmarks/kills.py --json FILE keep the counts in a file; a survey goes on from there

Each command starts from a copy of the same folder. A child process runs it and is ended by SIGKILL. The command
then runs again to its end. A kill counts as lost if the command fails, if it ends in other files or other bytes
than without a kill, or if it leaves a temporary file behind. The state of training is saved after every step here,
so that a kill may hit any of them.
"""

import argparse
import contextlib
import functools
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from quantascope.cli import main as quantascope
from quantascope.training import loop

SOURCE = "model.blocks=2 model.width=8 model.hidden=16 steps=12 optimizer.learning_rate=0.1 intervals=4 replays=2"
FOREST = "training.steps=40 training.evaluate_every=10 training.checkpoints=[0,20,40] family.tasks=4 batch_size=32"
COMPILED = "training.steps=6 model.width=8"
GUIDED = "training.steps=6 model.blocks=9 model.width=8 model.hidden=16"
FIT = "updates=6 parts=4"
PREPARED = (
    f"train addition --out source --set {SOURCE} trained_on=training_100",
    "discover source --workers 1",
    f"fit source --set {FIT}",
    f"train compiled --program roman --out teacher --set {COMPILED} trained_on=training_100",
)
COMMANDS = {
    "train a source": f"train addition --out new --set {SOURCE} trained_on=training_100",
    "train hsp": f"train hsp --out new --set {FOREST}",
    "train compiled": f"train compiled --program roman --out new --set {COMPILED} trained_on=training_100",
    "guide": f"guide --teacher teacher --weak-teacher --out new --set {GUIDED}",
    "discover": "discover source --rule gradient --workers 1",
    "fit": f"fit source --preset distilled --set {FIT} pool.inputs=6",
    "explain": "explain source --workers 1 --permutations 1",
    "trace": "trace source 12+34",
    "intervene": "intervene source",
    "reproduce": "reproduce flat-acquisition --set learner.training.steps=20 --workers 1",
}
QUICK, QUICK_KILLS = ("train hsp",), 3
"""The quick form: a command that needs no prepared folder and no workers, killed at renames alone."""
MOMENTS = ("fsync", "replace")
KINDS = ("at syncs and renames", "at random moments", "of workers")
COUNTED = (*KINDS, "lost")


@dataclass(frozen=True)
class Kill:
    """The n-th sync or rename at which a command is ended, or the seconds after which it or its worker is."""

    at: int | None = None
    after: bool = False
    seconds: float = 0.0
    worker: bool = False

    @property
    def kind(self) -> str:
        return KINDS[0 if self.at is not None else 2 if self.worker else 1]


@dataclass(frozen=True)
class Ended:
    """How a process ended: exit code, or minus the signal; what it wrote to stderr; syncs and renames; time.

    Each moment is the first letter of its name, of `MOMENTS`.
    """

    code: int
    complaint: str
    moments: str
    seconds: float


def run(command: str, folder: Path, kill: Kill | None = None) -> Ended:
    """Run a command in a child process, which is ended as the kill says."""
    record, complaint = folder.with_suffix(".moments"), folder.with_suffix(".stderr")
    began = time.monotonic()
    child = os.fork()
    if not child:
        _be_the_command(command.split(), folder, record, complaint, kill)
    if kill and kill.at is None:
        _end_after(child, kill)
    _, status = os.waitpid(child, 0)
    seconds = time.monotonic() - began
    moments = record.read_text() if record.exists() else ""
    record.unlink(missing_ok=True)
    return Ended(os.waitstatus_to_exitcode(status), complaint.read_text(), moments, seconds)


def _be_the_command(arguments: list[str], folder: Path, record: Path, complaint: Path, kill: Kill | None) -> None:
    code = 70
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        for stream, file in ((1, os.devnull), (2, str(complaint))):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        torch.set_num_threads(1)
        loop.Pace = functools.partial(loop.Pace, save=0.0)  # pyright: ignore[reportAttributeAccessIssue]
        with record.open("ab", buffering=0) as counted:
            _trap(kill, lambda name: counted.write(name[:1].encode()))
            code = quantascope(arguments)
        folder.with_suffix(".modules").write_text("\n".join(sys.modules))
    except BaseException as error:
        os.write(2, f"Traceback: {error!r}".encode())
    finally:
        os._exit(code)


def _trap(kill: Kill | None, note: Callable[[str], object]) -> None:
    """Count every sync and rename of this process, and end it at the one that is asked for."""
    passed = 0

    def trapped(name: str, call: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(call)
        def counted(*positional: object, **named: object) -> object:
            nonlocal passed
            note(name)
            passed += 1
            due = kill is not None and kill.at == passed
            if due and kill and not kill.after:
                os.kill(os.getpid(), signal.SIGKILL)
            done = call(*positional, **named)
            if due:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return counted

    for name in MOMENTS:
        setattr(os, name, trapped(name, getattr(os, name)))


def import_what_it_imported(folder: Path) -> None:
    """Import every module that a command has imported: its next runs are forks, and need not do so again."""
    for name in folder.with_suffix(".modules").read_text().splitlines():
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def _end_after(child: int, kill: Kill) -> None:
    """Wait, then end the process, or one of the worker processes that it has started."""
    until = time.monotonic() + kill.seconds
    while time.monotonic() < until and not _has_ended(child):
        time.sleep(0.002)
    victims = [process for process in _children(child) if b"spawn_main" in _command_line(process)]
    for victim in victims[:1] if kill.worker else [child]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)


def _has_ended(child: int) -> bool:
    return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def _children(parent: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        yield from map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split())


def _command_line(process: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder but its locks."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != ".lock")
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def lost(command: str, prepared: Path, expected: dict[str, bytes], kill: Kill) -> str | None:
    """What a kill has cost; None if nothing."""
    folder = prepared.with_name("killed")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(prepared, folder)
    first = run(command, folder, kill)
    if "Traceback" in first.complaint:
        return f"a traceback: {first.complaint.splitlines()[-1]}"
    again = run(command, folder)
    if again.code or "Traceback" in again.complaint:
        return f"exit code {again.code} on resuming: {again.complaint.strip()[-300:]}"
    found = contents(folder)
    if odd := sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name)):
        states = {
            name: "missing" if name not in found else "new" if name not in expected else "other" for name in odd
        }
        return f"files differ: {', '.join(f'{name} ({state})' for name, state in states.items())}"
    return None


def kills(ended: Ended, *, most: int | None, quick: bool, workers: bool, draw: random.Random) -> list[Kill]:
    """Kills of a command that passes these moments and takes so long; a larger `most` only adds some."""
    if quick:
        renames = [place for place, moment in enumerate(ended.moments, 1) if moment == "r"]
        return [Kill(at=place, after=draw.random() < 0.5) for place in draw.sample(renames, QUICK_KILLS)]
    timed = [Kill(seconds=draw.uniform(0, ended.seconds)) for _ in range(6)]
    ended_workers = [Kill(seconds=draw.uniform(0, ended.seconds), worker=True) for _ in range(4)]
    moments = range(1, len(ended.moments) + 1)
    every = [Kill(at=moment, after=after) for moment in moments for after in (False, True)]
    draw.shuffle(every)
    return [*timed, *(ended_workers if workers else []), *every[:most]]


def survey(
    done: dict[str, int], *, most: int | None = None, quick: bool = False, seed: int = 0
) -> Iterator[tuple[str, Kill, str | None]]:
    """Every kill of these commands but the first, which are done, and what it cost."""
    with tempfile.TemporaryDirectory() as temporary:
        prepared = Path(temporary) / "prepared"
        prepared.mkdir()
        for command in () if quick else PREPARED:
            made = run(command, prepared)
            if made.code:
                raise SystemExit(f"{command}: {made.complaint}")
        for name, begun in done.items():
            command, draw = COMMANDS[name], random.Random(f"{seed} {name}")
            folder = prepared.with_name("whole")
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(prepared, folder)
            run(command, folder)
            import_what_it_imported(folder)
            shutil.rmtree(folder)
            shutil.copytree(prepared, folder)
            whole = run(command, folder)
            if whole.code or "Traceback" in whole.complaint:
                raise SystemExit(f"{command}: {whole.complaint}")
            chosen = kills(whole, most=most, quick=quick, workers="--workers" in command, draw=draw)
            for kill in chosen[begun:]:
                yield name, kill, lost(command, prepared, contents(folder), kill)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few kills of one command, at renames")
    parser.add_argument("--most", type=int, help="at most so many syncs and renames of a command")
    parser.add_argument("--only", choices=COMMANDS, nargs="+", help="some commands")
    parser.add_argument("--json", type=Path, help="keep the counts in this file, beside those of other commands")
    asked = parser.parse_args()
    names = asked.only or (QUICK if asked.quick else COMMANDS)
    kept = json.loads(asked.json.read_text()) if asked.json and asked.json.exists() else {}
    counts = {name: kept.get(name, dict.fromkeys(COUNTED, 0)) for name in names}
    done = {name: sum(count[kind] for kind in KINDS) for name, count in counts.items()}
    for name, kill, cost in survey(done, most=asked.most, quick=asked.quick):
        counts[name][kill.kind] += 1
        counts[name]["lost"] += cost is not None
        if cost:
            print(f"{name}, {kill}: {cost}", flush=True)
        if asked.json:  # after each, since a survey may be interrupted
            asked.json.write_text(json.dumps(kept | counts, indent=2) + "\n")
    for name, count in counts.items():
        print(f"{name:16} {', '.join(f'{number} {kind}' for kind, number in count.items())}")
    return 1 if any(count["lost"] for count in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
