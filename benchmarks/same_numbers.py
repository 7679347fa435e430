"""Does a change of the code change a number? Tiny runs of every command and claim, compared bit for bit.

    python benchmarks/same_numbers.py record before.json     with the code as it was
    python benchmarks/same_numbers.py check before.json      with the code as it is
    python benchmarks/same_numbers.py record old.json --code OLD --without real-code --instead "--preset=--recipe"
        with the code of another checkout, which lacks a claim and calls an option otherwise

Tensors and tables are compared byte by byte and by the file that they are in. Of JSON, every number that was there
must be there again; words, keys and further numbers may differ. Bits depend on processor and libraries, so both
records are made on one machine.
"""

import argparse
import collections
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import safetensors.torch
import torch

MODEL = ["model.blocks=2", "model.width=8", "model.hidden=16"]
SOURCE = [*MODEL, "steps=24", "optimizer.learning_rate=0.1", "intervals=6", "replays=3"]
COMMANDS = {
    "train hsp": "train hsp --out hsp --set training.steps=200 --json",
    "train source": f"train number-naming --out source --set {' '.join(SOURCE)} --json",
    "audit": "audit source --json",
    "discover gradient": "discover source --rule gradient --workers 1 --json",
    "discover": "discover source --workers 1 --json",
    "explain factors": "explain source --workers 1 --permutations 2 --json",
    "fit faithful": "fit source --set updates=8 --json",
    "fit distilled": "fit source --preset distilled --set updates=8 parts=6 pool.inputs=6 --json",
    "explain qmodel": "explain source --workers 1 --permutations 2 --json",
    "trace": "trace source 346 --json",
    **{f"compile {name}": f"compile {name} --json" for name in ("english", "french", "addition")},
    "train compiled": "train compiled --program addition --out compiled --set training.steps=5 --json",
    "explain compiled": "explain compiled --workers 1 --permutations 2 --json",
    "guide": "guide --teacher compiled --weak-teacher --out guided --set training.steps=5 model.blocks=8 --json",
    "simulate": "simulate --json",
}
CLAIMS = [
    "flat-acquisition", "composed-staircase", "child-parent-order", "acquisition-clock", "hsp-demand",
    "parameter-scaling", "data-scaling", "joint-frontier", "finite-size", "number-naming-data", "recover-quanta",
    "ordering", "seed-stability", "support-transfer", "recovered-qmodel", "message-interventions",
    "source-faithfulness", "qmodel-frontier", "semantics", "compiled-qmodel", "guided-training",
    "guidance-data-efficiency", "guidance-other-programs", "guidance-reliability", "guidance-real-data",
    "real-inflection", "real-spelling", "real-code",
]  # fmt: skip


def record(code: Path, without: Collection[str], instead: Mapping[str, str]) -> dict[str, Any]:
    """The numbers of every command, by what printed or wrote them."""
    commands = {**COMMANDS, **{name: f"reproduce {name} --json" for name in CLAIMS}}
    with tempfile.TemporaryDirectory() as folder:
        printed = {
            name: _numbers_printed(name, _spelled(command, instead), Path(folder), code)
            for name, command in commands.items()
            if name not in without
        }
        written = collections.defaultdict(list)
        for name, digest in sorted(_files(Path(folder))):
            written[name].append(digest)
        asked = ["git", "-C", str(code), "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        return {"commit": commit, "printed": printed, "written": written}


def _spelled(command: str, instead: Mapping[str, str]) -> str:
    for words, others in instead.items():
        command = command.replace(words, others)
    return command


def _numbers_printed(name: str, command: str, folder: Path, code: Path) -> list[str]:
    print(name, file=sys.stderr, flush=True)
    asked = [sys.executable, "-m", "quantascope.cli", *command.split()]
    environment = {**os.environ, "PYTHONPATH": str(code.resolve() / "src")}
    done = subprocess.run(asked, cwd=folder, env=environment, capture_output=True, text=True)
    if "Traceback" in done.stderr:
        raise SystemExit(f"{command}: {done.stderr}")
    # A command that refuses, refuses before and after.
    return ["refused"] if done.returncode == 2 else sorted(_leaves(json.loads(done.stdout)))


def _leaves(values: Any) -> Iterator[str]:
    """The numbers in a JSON value, to the last bit."""
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, list):
        for value in values:
            yield from _leaves(value)
    elif isinstance(values, int | float) and not isinstance(values, bool):
        yield float(values).hex() if math.isfinite(values) else "nan"


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    """A digest of every tensor file and table; the hash of a config in a folder's name is left out."""
    for file in folder.rglob("*"):
        name = re.sub(r"-[0-9a-f]{8,16}(?=/)", "", str(file.relative_to(folder)))
        if file.suffix == ".safetensors":
            yield name, _digest(_tensor_bytes(file))
        elif file.suffix == ".parquet":
            table = pl.read_parquet(file)
            yield name, _digest({column: table[column].to_list() for column in table.columns})


def _tensor_bytes(file: Path) -> dict[str, bytes]:
    tensors = safetensors.torch.load_file(file)
    return {name: one.flatten().view(torch.uint8).numpy().tobytes() for name, one in tensors.items()}


def _digest(values: dict[str, Any]) -> str:
    return hashlib.sha256(repr(sorted(values.items())).encode()).hexdigest()[:16]


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What is no longer there."""
    found = []
    for name, digests in before["written"].items():
        lost = collections.Counter(digests) - collections.Counter(after["written"].get(name, []))
        if lost:
            found.append(f"{name}: {lost.total()} of {len(digests)} differ or are missing")
    for name, numbers in before["printed"].items():
        lost = collections.Counter(numbers) - collections.Counter(after["printed"].get(name, []))
        found += [f"{name} no longer prints {one}" for one in list(lost)[:5]]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the numbers of every command before and after a change.")
    parser.add_argument("what", choices=("record", "check"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--code", type=Path, default=Path(__file__).parent.parent, help="a checkout; this one")
    parser.add_argument("--without", nargs="*", default=[], help="commands and claims that are left out")
    parser.add_argument(
        "--instead", nargs="*", default=[], help="WORDS=OTHERS: how that checkout spells a command"
    )
    parser.add_argument("--json", type=Path, help="keep what was compared in this file")
    asked = parser.parse_args()
    instead = dict(spelling.split("=", 1) for spelling in asked.instead)
    now = record(asked.code, asked.without, instead)
    if asked.what == "record":
        asked.file.write_text(json.dumps(now, indent=1))
        return 0
    before = json.loads(asked.file.read_text())
    found = differences(before, now)
    counts = {"files": sum(map(len, before["written"].values())), "outputs": len(before["printed"])}
    print("\n".join(found) or f"{counts['files']} files and {counts['outputs']} outputs are the same")
    if asked.json:
        kept = {"before": before["commit"], "after": now["commit"], **counts, "differences": found}
        asked.json.write_text(json.dumps(kept, indent=2) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
