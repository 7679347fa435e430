"""Give every command odd arguments: each must end in a result or in one line that says what is wrong.

    python benchmarks/odd_arguments.py              700 calls, drawn with a seed, evenly over the commands
    python benchmarks/odd_arguments.py --calls 0    every option and every setting, some thousand calls
    python benchmarks/odd_arguments.py --json FILE  keep the counts in a file; a survey goes on from there

Each call runs in a process of its own, from a copy of a prepared folder, with limits on processor time and memory.
Every fifth has a terminal with colours, the others write to files. A call is a defect if it prints a traceback,
ends by a signal, complains in several lines, writes control characters to a file or in its complaint, asks for
more memory than there is, or neither ends nor shows progress. Calls that are long because they were asked to be (a
million steps) are counted apart.
"""

import argparse
import collections
import contextlib
import itertools
import json
import os
import pty
import random
import resource
import shutil
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel

from kills import import_what_it_imported
from quantascope.acquisition.learner_config import HSPLearner
from quantascope.claims.register import CLAIMS
from quantascope.cli import main as quantascope
from quantascope.guidance.guide import GuidedLearner
from quantascope.qmodel.compiled.fit import CompiledLearner
from quantascope.qmodel.recovered.config import RecoveredFit
from quantascope.sources.trained import SourceConfig

SECONDS = 20
TERMINAL_EVERY = 5
NAME = "quantascope: "
GIGABYTES = 6
SOURCE = "model.blocks=2 model.width=8 model.hidden=16 steps=12 optimizer.learning_rate=0.1 intervals=4 replays=2"
FOREST = "training.steps=20 family.tasks=4 batch_size=32"
COMPILED = "training.steps=4 model.width=8 trained_on=training_100"
GUIDED = "training.steps=4 model.blocks=9 model.width=8 model.hidden=16"
PREPARED = (
    f"train addition --out source --set {SOURCE} trained_on=training_100",
    "discover source --workers 1",
    "fit source --set updates=4 parts=2",
    f"train compiled --program roman --out teacher --set {COMPILED}",
)
INTEGERS = ("-1", "0", "3000", "1000000000", f"1{'0' * 30}", "1.5", "nan", "x", "")
REALS = ("-1", "0", "1e308", "1e-308", "nan", "inf", "x", "")
PATHS = ("", ".", "/", "/dev/null", "missing/deeper", "source/config.json", "[/x]", "a\x1b[31m\nb")
# A folder that takes files is never "/": the call would leave them there.
FOLDERS = ("", ".", "/proc/none", "/dev/null", "missing/deeper", "source/config.json", "[/x]", "a\x1b[31m\nb")
NAMES = ("", "x", "/", "[/x]", "$\\frac{$", "a\x1b[31m\nb", "x" * 5000, "source.py:task", ":", "hf:")
OPTIONS = {
    f"train addition --out new --set {SOURCE}": {
        "--seed": INTEGERS, "--threads": INTEGERS, "--config": PATHS, "--out": FOLDERS, "--program": NAMES,
    },
    f"train hsp --out new --set {FOREST}": {"--seed": INTEGERS, "--threads": INTEGERS, "--config": PATHS},
    f"train compiled --out new --set {COMPILED}": {"--program": NAMES, "--seed": INTEGERS, "--config": PATHS},
    "discover source --workers 1": {
        "--threshold": REALS, "--memory": REALS, "--workers": INTEGERS, "--threads": INTEGERS, "--engine": NAMES,
        "--rule": NAMES, "--panel": NAMES, "--task": NAMES, "--data": PATHS, "--length": INTEGERS,
        "--examples": INTEGERS, "--branch": NAMES,
    },
    "fit source --set updates=4 parts=2": {"--seed": INTEGERS, "--threads": INTEGERS, "--preset": NAMES},
    "explain source --workers 1 --permutations 1": {
        "--permutations": INTEGERS, "--units": NAMES, "--preset": NAMES, "--properties": NAMES,
        "--calibration": NAMES, "--test": NAMES, "--workers": INTEGERS, "--threads": INTEGERS,
    },
    "trace source 12+34": {"--preset": NAMES, "--task": NAMES},
    "intervene source": {"--delete": NAMES, "--ablate": NAMES, "--force": NAMES, "--panel": NAMES},
    "audit source": {"--branch": NAMES, "--data": PATHS, "--task": NAMES},
    "compile addition": {"--figure": FOLDERS},
    f"guide --teacher teacher --weak-teacher --out new --set {GUIDED}": {
        "--teacher": PATHS, "--seed": INTEGERS, "--threads": INTEGERS, "--config": PATHS, "--program": NAMES,
    },
    "simulate": {
        "--roots": INTEGERS, "--branching": INTEGERS, "--depth": (*INTEGERS, "1000000"), "--alpha": REALS,
        "--clock": NAMES,
    },
    "reproduce hsp-demand --out new": {
        "--preset": NAMES, "--workers": INTEGERS, "--threads": INTEGERS, "--engine": NAMES, "--publish": FOLDERS,
    },
    "scoreboard": {"--results": PATHS},
}  # fmt: skip
PLACES = {
    "train {} --out new": NAMES, "discover {}": PATHS, "fit {}": PATHS, "explain {}": PATHS, "trace {} 1": PATHS,
    "trace source {}": NAMES, "intervene source {}": NAMES, "audit {}": (*PATHS, *NAMES), "compile {}": NAMES,
    "reproduce {}": NAMES, "{}": NAMES,
}  # fmt: skip
SETTINGS = {
    f"train addition --out new --set {SOURCE}": SourceConfig(task="addition"),
    f"train hsp --out new --set {FOREST}": HSPLearner(),
    f"train compiled --program roman --out new --set {COMPILED}": CompiledLearner(),
    f"guide --teacher teacher --weak-teacher --out new --set {GUIDED}": GuidedLearner(),
    "fit source --set updates=4 parts=2": RecoveredFit(),
    **{f"reproduce {name} --out new --set": claim.presets["quick"] for name, claim in CLAIMS.items()},
}
NAMED = {command.split()[0] for command in (*OPTIONS, *PLACES, *SETTINGS)} - {"{}"}
ODD = {
    bool: ("2", '"x"', "null"),
    int: ("-1", "0", "1000000000", f"1{'0' * 30}", "1.5", "null", "[]"),
    float: ("-1", "0", "1e308", "NaN", "Infinity", "null"),
    str: ('""', '"x"', '"[/x]"', "3"),
    tuple: ("[]", "[-1]", "[1000000000]", '["x"]', "3"),
}


@dataclass(frozen=True)
class Outcome:
    """How a call ended: its kind, and what it wrote to stderr."""

    kind: str
    complaint: str

    @property
    def is_defect(self) -> bool:
        return self.kind not in ("result", "refusal", "long")


def calls() -> Iterator[list[str]]:
    """Every command with every odd argument."""
    for command, options in OPTIONS.items():
        for option, values in options.items():
            for value in values:
                words = command.split()
                place = words.index(option) if option in words else len(words)
                yield [*words[:place], *words[place + 2 :], option, value]
    for command, values in PLACES.items():
        for value in values:
            yield [value if word == "{}" else word for word in command.split()]
    for command, config in SETTINGS.items():
        for key, value in _leaves(config):
            for odd in ODD[type(value)]:
                kept = [word for word in command.split() if not word.startswith(f"{key}=")]
                yield [*kept, f"{key}={odd}"]


def sample(every: list[list[str]], count: int, seed: int) -> list[list[str]]:
    """So many calls, in turn of each command as long as it has any; all if the count is 0."""
    by_command: dict[str, list[list[str]]] = {}
    for call in every:
        by_command.setdefault(call[0] if call[0] in NAMED else "", []).append(call)
    draw = random.Random(seed)
    waiting = [draw.sample(own, len(own)) for own in by_command.values()]
    turns = (call for turn in itertools.zip_longest(*waiting) for call in turn if call is not None)
    return list(itertools.islice(turns, count or None))


def _leaves(config: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key in type(config).model_fields:
        value = getattr(config, key)
        if isinstance(value, BaseModel):
            yield from _leaves(value, f"{prefix}{key}.")
        elif type(value) in ODD:
            yield f"{prefix}{key}", value


def outcome(arguments: list[str], folder: Path, *, terminal: bool = False) -> Outcome:
    """Make a call in a child process, which has a terminal or writes to files."""
    if terminal:
        child, shown = pty.fork()
        if not child:
            os.environ["TERM"] = "xterm-256color"
            _be_the_call(arguments, folder)
        received = _received(shown)
        return judged(_exit_code(child), received, terminal=True)
    files = [folder.with_suffix(".stdout"), folder.with_suffix(".stderr")]
    child = os.fork()
    if not child:
        for stream, file in enumerate((Path(os.devnull), *files)):
            os.dup2(os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC), stream)
        _be_the_call(arguments, folder)
    code = _exit_code(child)
    said, complaint = (file.read_bytes().decode(errors="replace") for file in files)
    return judged(code, complaint, said)


def _exit_code(child: int) -> int:
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _received(shown: int) -> str:
    """All that a terminal shows until its process ends."""
    parts: list[bytes] = []
    with contextlib.suppress(OSError):  # Linux says so that the other end is closed
        while part := os.read(shown, 65536):
            parts.append(part)
    os.close(shown)
    return b"".join(parts).decode(errors="replace").replace("\r\n", "\n")


def _be_the_call(arguments: list[str], folder: Path) -> None:
    code = 70
    try:
        os.chdir(folder)
        torch.set_num_threads(1)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        for kind, limit in (
            (resource.RLIMIT_AS, pages * resource.getpagesize() + GIGABYTES * 10**9),
            (resource.RLIMIT_CPU, int(sum(os.times()[:2])) + SECONDS),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(kind, (limit, limit))
        code = quantascope(arguments)
        folder.with_suffix(".modules").write_text("\n".join(sys.modules))
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 70
    except BaseException as error:
        os.write(2, f"Traceback: {type(error).__name__}: {error}".encode(errors="replace"))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def judged(code: int, complaint: str, said: str = "", *, terminal: bool = False) -> Outcome:
    """What the end of a call means, from its exit code, its stderr and its stdout; a terminal shows both as one.

    A terminal may get colours and a progress bar, but no control characters from the complaint's start to its end.
    """
    if terminal:  # the bar may stand before the complaint in its line
        complaints = [line[line.index(NAME) :] for line in complaint.split("\n") if NAME in line]
    else:
        complaints = [line for line in complaint.split("\n") if line.startswith(NAME)]
    checked = complaints if terminal else [complaint, said]
    errors = [
        line
        for line in complaints
        if not line.startswith(("quantascope: warning", "quantascope: training events"))
    ]
    if "Traceback" in complaint:
        kind = "traceback"
    elif code in (-9, -24):
        kind = "long" if complaint.strip() else "hang"
    elif code < 0:
        kind = "signal"
    elif any(map(_steers, checked)):
        kind = "control characters"
    elif code == 2 and any("out of memory" in line for line in errors):
        kind = "memory taken"
    elif code == 2:
        kind = "refusal" if len(errors) == 1 else "several lines"
    else:
        kind = "result" if code in (0, 1) else "exit code"
    return Outcome(kind, complaint.strip())


def _steers(text: str) -> bool:
    """Whether a text has characters that control a terminal, besides the ends of its lines."""
    return any(unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp") for sign in text if sign != "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=700, help="so many calls over all commands; 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw")
    parser.add_argument("--only", default="", help="make calls that contain this text only")
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    asked = parser.parse_args()
    chosen = sample([call for call in calls() if asked.only in " ".join(call)], asked.calls, asked.seed)
    kept = json.loads(asked.json.read_text()) if asked.json and asked.json.exists() else {}
    if kept and kept["seed"] != asked.seed:
        raise SystemExit(f"{asked.json} holds calls of seed {kept['seed']}; give another file")
    counts = collections.Counter[str](kept.get("ends", {}))
    with tempfile.TemporaryDirectory() as temporary:
        prepared, folder = Path(temporary) / "prepared", Path(temporary) / "called"
        prepared.mkdir()
        for command in PREPARED:
            made = outcome([*command.split()], prepared)
            if made.kind != "result":
                raise SystemExit(f"{command}: {made.complaint}")
            import_what_it_imported(prepared)
        for number, call in list(enumerate(chosen))[counts.total() :]:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(prepared, folder)
            found = outcome(call, folder, terminal=number % TERMINAL_EVERY == 0)
            counts[found.kind] += 1
            if found.is_defect:
                print(f"{found.kind}: {' '.join(call)[:300]!r}\n    {found.complaint[-400:]!r}", flush=True)
            if asked.json:  # after each, since a survey may be interrupted
                asked.json.write_text(json.dumps({"seed": asked.seed, "ends": dict(counts)}, indent=2) + "\n")
    print(f"{dict(collections.Counter(call[0][:20] for call in chosen))}")
    print(f"{len(chosen)} calls: {', '.join(f'{count} {kind}' for kind, count in counts.most_common())}")
    return 0 if set(counts) <= {"result", "refusal", "long"} else 1


if __name__ == "__main__":
    sys.exit(main())
