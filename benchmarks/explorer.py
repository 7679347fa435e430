"""A run of 100,000 events, 40 intervals and 60 quanta in the explorer: time and size of every answer.

    python benchmarks/explorer.py                       make the run, ask a server one address after another
    quantascope explore benchmarks/explorer.py:source   the same run in the browser, once it is made

Nothing is trained or found: 60 quanta with supports and curves of their own are planted, with noise. Times go
from a request to its last byte, on one thread, beside the processor's own time, which other work on the machine
does not change; the first is that of a server that was just started, which reads the run. The run is made once, in
a folder beside other temporary files.
"""

import argparse
import http.client
import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from quantascope.discovery.discover import Discovery
from quantascope.discovery.factors import Factors
from quantascope.discovery.field import PriorityField
from quantascope.discovery.measure import field_file, field_origin
from quantascope.explorer.explorer import Explorer
from quantascope.explorer.open import open_runs
from quantascope.explorer.server import LARGEST, ExplorerServer
from quantascope.runs.artefact import write_json
from quantascope.runs.engine import use_threads
from quantascope.runs.provenance import made_with
from quantascope.sources.module import module_source
from quantascope.sources.source import Source
from quantascope.tasks.sequence import SequenceTask
from quantascope.training import Recorder

EVENTS, INTERVALS, QUANTA, LAYERS = 100_000, 40, 60, 3
LENGTH = 5
"""Events of an example."""
HELD_OUT = 200
"""Examples of the held-out panel."""
WORDS = tuple(f"word{number}" for number in range(40))
FOLDER = Path(tempfile.gettempdir()) / f"quantascope-explorer-benchmark-{os.getuid()}"


def answer(number: int) -> tuple[str, ...]:
    """Four words that follow from a number, and the end."""
    return (*(WORDS[number * (7 + place) % len(WORDS)] for place in range(LENGTH - 1)), "EOS")


EXAMPLES = EVENTS // LENGTH
TASK = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", "EOS", *"0123456789", *WORDS),
    positions=16,
    prompt=lambda number: f"{number:06}",
    answer=answer,
    reported=("held_out",),
    panels={"training": lambda: range(EXAMPLES), "held_out": lambda: range(EXAMPLES, EXAMPLES + HELD_OUT)},
    read=int,
)


def source() -> Source:
    """A source whose checkpoints are nearly empty: the explorer looks at its field."""
    model = nn.ParameterDict({f"layer{layer}": nn.Parameter(torch.zeros(1)) for layer in range(LAYERS)})
    if not (FOLDER / "checkpoints").is_dir():
        recorder = Recorder(model, FOLDER, steps=range(0, 100 * INTERVALS + 1, 100))
        for _ in range(100 * INTERVALS):
            recorder.step(0.1)
    layers = {f"block {layer}": f"layer{layer}" for layer in range(LAYERS)}
    return module_source(model, FOLDER, task=TASK, layers=layers, folder=FOLDER / "found")


def make(found: Source) -> None:
    """Plant the quanta of the run, and keep them as `discover` does."""
    rng = np.random.default_rng(0)
    steps, layer = np.array(found.steps), np.sort(np.arange(QUANTA) % LAYERS)
    middle = rng.uniform(2, INTERVALS - 2, QUANTA)
    curves = np.exp(-(((np.arange(INTERVALS) - middle[:, None]) / 2) ** 2))
    supports = rng.random((QUANTA, EVENTS)) < rng.uniform(0.02, 0.4, (QUANTA, 1))
    factors = Factors(layer=layer, supports=supports, curves=curves, explained=rng.uniform(0.01, 0.2, QUANTA))
    fields = [_field(rng, steps, factors, members) for members in (supports, supports[:, : LENGTH * HELD_OUT])]
    digests = {str(step): found.trajectory.digest(index) for index, step in enumerate(found.steps)}
    for panel, field in zip(("training", "held_out"), fields, strict=True):
        origin = field_origin(found, "path", panel)
        field.save(field_file(found, "path", panel), made_by=origin, checkpoints=digests)
    Discovery(found, 0.01, *fields, panel="held_out", known=factors).save()


def _field(rng: np.random.Generator, steps: np.ndarray, factors: Factors, members: np.ndarray) -> PriorityField:
    """The field of planted quanta, with noise."""
    events = members.shape[1]
    values = rng.normal(0, 0.05, (LAYERS, events, INTERVALS)).astype(np.float32)
    for quantum, curve in enumerate(factors.curves):
        values[factors.layer[quantum]] += np.outer(members[quantum], curve).astype(np.float32)
    gone = np.cumsum(values.sum(0), 1)
    losses = np.concatenate([np.zeros((events, 1), np.float32), -gone], 1) + gone.max()
    return PriorityField(
        rule="path",
        layers=tuple(f"block {layer}" for layer in range(LAYERS)),
        steps=steps,
        values=values,
        other=np.zeros((events, INTERVALS), np.float32),
        losses=losses,
    )


ASKED = {
    "the runs, first of all": "index",
    "losses and 60 curves": "runs/0/training",
    "the table of quanta": "runs/0/quanta",
    "the table again": "runs/0/quanta",
    "one quantum": "runs/0/quantum?name=L1.Q3",
    "its strongest events": "runs/0/events?name=L1.Q3&which=strongest",
    "a later page": "runs/0/events?name=L1.Q3&which=strongest&offset=5000",
    "its borderline events": "runs/0/events?name=L1.Q3&which=borderline",
    "a brush": "runs/0/interval?from=400&to=900",
    "another brush": "runs/0/interval?from=1200&to=3100",
}


def main() -> None:
    """Print time and size of each answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    chosen = parser.parse_args()
    use_threads(1)
    found = source()
    if not (found.folder / "factors.safetensors").exists():
        make(found)
        print(f"made {found.folder}")
    began = _now()
    explorer = Explorer(open_runs([f"{Path(__file__).resolve()}:source"]), "")
    measured = {"opened": _since(began)}
    print(f"{'opened':28} {_told(measured['opened'])}")
    with ExplorerServer(explorer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        measured |= {what: _ask(server, what, path) for what, path in ASKED.items()}
        server.shutdown()
    assert max(one.get("bytes", 0) for one in measured.values()) <= LARGEST
    if chosen.json:
        outcome = {"measured": measured, "asked": {"bytes": f"<= {LARGEST}"}}
        write_json(chosen.json, outcome | {"load_average": os.getloadavg()[0], "made_with": made_with()})


def _ask(server: ExplorerServer, what: str, path: str) -> dict[str, float]:
    host, port = server.server_address[:2]
    connection, began = http.client.HTTPConnection(str(host), port), _now()
    connection.request("GET", f"/api/{path}", headers={"Accept-Encoding": "gzip"})
    reply = connection.getresponse()
    body = reply.read()
    taken = _since(began)
    print(f"{what:28} {_told(taken)} {len(body):10,} bytes   {reply.status}")
    connection.close()
    return taken | {"bytes": len(body)}


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(began: tuple[float, float]) -> dict[str, float]:
    names = ("seconds", "processor_seconds")
    return {name: round(now - then, 4) for name, now, then in zip(names, _now(), began, strict=True)}


def _told(taken: dict[str, float]) -> str:
    return f"{taken['seconds']:8.3f} s {taken['processor_seconds']:8.3f} s of the processor"


if __name__ == "__main__":
    main()
