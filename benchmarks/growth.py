"""How time and memory of a priority field grow over a decade of events, intervals, parameters and layers.

A Transformer with random weights takes plain steps on random sequences, and the field of its trajectory is
measured by the gradient rule, on one thread and within one budget. CPU seconds and the bytes of tensors alive
at once are counted; the exponent of each is that between the ends of the decade, 1 for linear growth. Bytes are
told without the field itself, which holds a number for every layer, event and interval.
"""

import argparse
import math
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

from quantascope.discovery import priority_field
from quantascope.discovery.cost import field_bytes
from quantascope.discovery.memory import PeakMemory
from quantascope.models import Transformer, TransformerConfig
from quantascope.report.figures import save_figure
from quantascope.report.figures.style import BLUE, VERMILLION, house_style, panels, title
from quantascope.runs.artefact import write_json
from quantascope.runs.provenance import made_with
from quantascope.sources.losses import ModuleLosses
from quantascope.sources.trained import OBJECTIVE
from quantascope.tasks.events import Events
from quantascope.training import Recorder, Trajectory

BUDGET = 2e6
LENGTH, OUTPUTS, VOCABULARY = 10, 5, 40
DECADE = (1.0, 3.0, 10.0)


@dataclass(frozen=True)
class Size:
    """What is measured."""

    examples: int = 80
    intervals: int = 2
    width: int = 16
    blocks: int = 2


BASE = Size()


def grown(axis: str, factor: float) -> Size:
    """The base, so many times larger along one axis; parameters of a block go with the square of the width."""
    match axis:
        case "events":
            return replace(BASE, examples=round(BASE.examples * factor))
        case "intervals":
            return replace(BASE, intervals=round(BASE.intervals * factor))
        case "parameters":
            return replace(BASE, width=round(BASE.width * factor**0.5))
        case _:
            return replace(BASE, blocks=round(BASE.blocks * factor))


def measured(size: Size, folder: Path) -> dict[str, float]:
    """CPU seconds and bytes of one field."""
    config = TransformerConfig(blocks=size.blocks, width=size.width, hidden=2 * size.width)
    model = Transformer(vocabulary=VOCABULARY, positions=LENGTH + OUTPUTS, config=config, seed=0)
    draw = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, VOCABULARY, (size.examples, LENGTH + OUTPUTS), generator=draw).tolist()
    events = Events.of([row[:LENGTH] for row in tokens], [row[LENGTH:] for row in tokens])
    recorder, optimizer = Recorder(model, folder, steps=1), torch.optim.SGD(model.parameters(), 0.01)
    for step in range(size.intervals):
        OBJECTIVE(model, events, step)
        optimizer.step()
        recorder.step(0.01)
    layers = {f"block {block}": f"blocks.{block}.*" for block in range(size.blocks)}
    trajectory, losses = Trajectory.open(folder), ModuleLosses(model)

    def field() -> None:
        priority_field(trajectory, losses, layers, train=events, rule="gradient", memory=BUDGET)

    field()
    began = time.process_time()
    field()
    seconds = time.process_time() - began
    with PeakMemory() as used:
        field()
    own = field_bytes(size.blocks, events.count, size.intervals)
    parameters = sum(value.numel() for value in model.parameters())
    return {"events": events.count, "intervals": size.intervals, "parameters": parameters, "layers": size.blocks,
            "cpu_seconds": seconds, "bytes": max(used.peak - own / 2, 0.0)}  # fmt: skip


def exponent(points: list[dict[str, float]], axis: str, what: str) -> float:
    """The power of growth between the ends."""
    first, last = points[0], points[-1]
    return math.log(last[what] / first[what]) / math.log(last[axis] / first[axis])


def summary(found: dict[str, list[dict[str, float]]]) -> dict[str, dict[str, Any]]:
    """The power of growth along each axis, and the ends of the peaks beside the budget."""
    powers = {
        axis: {what: exponent(points, axis, what) for what in ("cpu_seconds", "bytes")}
        for axis, points in found.items()
    }
    peaks = [point["bytes"] / 1e6 for points in found.values() for point in points]
    return {"exponents": powers, "megabytes": {"budget": BUDGET / 1e6, "least": min(peaks), "most": max(peaks)}}


def draw(found: dict[str, list[dict[str, float]]]) -> Figure:
    """Time and memory by each axis, as multiples of the smallest, beside linear growth."""
    with house_style():
        figure, each = panels(len(found), width=2.6, height=2.6)
        for letter, axes, (axis, points) in zip("abcd", each, found.items(), strict=True):
            sizes = [one[axis] for one in points]
            axes.plot(sizes, [size / sizes[0] for size in sizes], color="0.7", linestyle="--", label="linear")
            for what, colour, marker in (("cpu_seconds", VERMILLION, "o"), ("bytes", BLUE, "s")):
                values = [one[what] / points[0][what] for one in points]
                power = f"power {exponent(points, axis, what):.2f}"
                name = "time" if what == "cpu_seconds" else "memory"
                axes.plot(sizes, values, color=colour, marker=marker, markersize=4, label=f"{name}, {power}")
            axes.set(xscale="log", yscale="log", xlabel=axis, ylabel="times the smallest", ylim=(0.6, 400))
            axes.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
            axes.set_yticks([1, 10, 100], ["1", "10", "100"])
            axes.minorticks_off()
            axes.legend(loc="upper left")
            title(axes, letter, axis)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="where to write the outcome; a figure is drawn beside it")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, list[dict[str, float]]] = {}
    for axis in ("events", "intervals", "parameters", "layers"):
        found[axis] = []
        for factor in DECADE:
            with tempfile.TemporaryDirectory() as folder:
                found[axis].append(measured(grown(axis, factor), Path(folder)))
            one = found[axis][-1]
            shown = f"{one[axis]:10,.0f} {axis:10s} {one['cpu_seconds']:8.2f} s {one['bytes'] / 1e6:8.2f} MB"
            print(shown, flush=True)
        powers = {what: exponent(found[axis], axis, what) for what in ("cpu_seconds", "bytes")}
        print(f"{axis}: time to the power {powers['cpu_seconds']:.2f}, memory to the power {powers['bytes']:.2f}")
    if chosen.json:
        write_json(chosen.json, {"measured": found, **summary(found), "budget": BUDGET, "made_with": made_with()})
        with house_style():
            save_figure(draw(found), chosen.json.with_suffix(".png"))


if __name__ == "__main__":
    main()
