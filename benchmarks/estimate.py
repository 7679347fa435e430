"""What the estimate of a field's cost says beside what the field takes: CPU seconds, points and peak memory.

    source, sgd          the reference source of number naming, from a few examples of a few intervals
    source, adam         its short run of Adam in minibatches, likewise
    neox, checkpoints    a small GPT-NeoX, trained by SGD and by Adam, likewise from its checkpoints
    neox, config         the same two fields, from the GPT-NeoX's config.json and the speed of this machine alone

All by the path rule, on one thread. From a config the number of points is not known: the estimate has a range, and
the truth should lie in it within a factor of 1.5. It is shown beside the estimate with the number of points that
were taken. Estimates and fields take turns; the medians of the rounds count, and the ratio of every round is kept.
Memory is that of the tensors alive at once, counted in another run.

For the configs of Pythia an estimate is made of which nothing is run, on one GPU and on a hundred workers.
"""

import argparse
import importlib
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import torch
from threadpoolctl import threadpool_limits

from quantascope.discovery import FieldCost, field_cost
from quantascope.discovery.config_cost import WindowCost, measured_rate
from quantascope.discovery.interval import Interval
from quantascope.discovery.memory import PeakMemory
from quantascope.discovery.priority import priority_field
from quantascope.models.hugging_face import causal_lm_losses, layers_of, read_weights
from quantascope.runs.artefact import read_json, write_json
from quantascope.runs.provenance import made_with
from quantascope.sources.losses import ModuleLosses
from quantascope.sources.source import Source
from quantascope.sources.trained import SourceConfig, train_source
from quantascope.training import Trajectory

FACTOR = 1.5
SOURCES: dict[str, dict[str, Any]] = {
    "sgd": {"replays": 0},
    "adam": {
        "optimizer": {"name": "adam", "learning_rate": 0.003}, "batch": 32, "steps": 1000, "replays": 0,
    },
}  # fmt: skip
CASES = [f"{kind}_{optimizer}" for kind in ("source", "neox") for optimizer in SOURCES]
NEOX = {
    "model_type": "gpt_neox", "vocab_size": 256, "hidden_size": 96, "num_hidden_layers": 4,
    "num_attention_heads": 4, "intermediate_size": 384, "max_position_embeddings": 64,
}  # fmt: skip
ROWS, LENGTH, INTERVALS, EVERY = 32, 33, 6, 4
PYTHIA = {
    # name: hidden size, layers, heads
    "70M": (512, 6, 8),
    "160M": (768, 12, 12),
    "410M": (1024, 24, 16),
    "1B": (2048, 16, 8),
    "1.4B": (2048, 24, 16),
}
"""The shapes of the published configs: 50,304 tokens, 2,048 positions, four times as many hidden units."""
FIELD = {"examples": 1024, "intervals": 100}
TOKENS = 65
MEMORY = {"70M": 4e9, "160M": 4e9, "410M": 4e9, "1B": 20e9, "1.4B": 20e9}
MACHINES = {"gpu": {"rate": 10e12, "workers": 1}, "cluster": {"rate": 1e12, "workers": 100}}


@contextmanager
def cpu_clock() -> Iterator[None]:
    """Let estimates read CPU time, which another process disturbs less than the clock on the wall."""
    with mock.patch.object(time, "perf_counter", time.process_time):
        yield


@dataclass(frozen=True)
class Taken:
    """CPU seconds of a field in each round, its points, and its peak bytes."""

    seconds: tuple[float, ...]
    points: float
    bytes: float


def in_turn(
    field: Callable[[], object], estimates: Callable[[], dict[str, FieldCost]], rounds: int
) -> tuple[Taken, dict[str, list[FieldCost]]]:
    """Make the estimates and take the field, in turns."""
    counts, seconds, counted = list[int](), list[float](), Interval.counted
    costs: dict[str, list[FieldCost]] = {}

    def noting(self: Interval, index: int) -> tuple[dict[str, torch.Tensor], int]:
        column, points = counted(self, index)
        counts.append(points)
        return column, points

    for _ in range(rounds):
        with cpu_clock():
            for way, cost in estimates().items():
                costs.setdefault(way, []).append(cost)
        with mock.patch.object(Interval, "counted", noting):
            began = time.process_time()
            field()
            seconds.append(time.process_time() - began)
    with PeakMemory() as used:
        field()
    return Taken(tuple(seconds), sum(counts) / len(counts), float(used.peak)), costs


def beside(costs: list[FieldCost], taken: Taken) -> dict[str, Any]:
    """Estimates beside the field; `at_its_points` is the estimate with the number of points that were taken."""
    ranges = [cost.seconds_range or (cost.seconds, cost.seconds) for cost in costs]
    least, most = (median(ends) for ends in zip(*ranges, strict=True))
    seconds, told = median(taken.seconds), median(cost.seconds for cost in costs)
    points = costs[0].points / costs[0].intervals
    known = costs[0].seconds_range is not None
    outside = [max(low / real, real / high, 1.0) for (low, high), real in zip(ranges, taken.seconds, strict=True)]
    return {
        "told_seconds_least": least,
        "told_seconds_most": most,
        "cpu_seconds": seconds,
        "told_over_taken": told / seconds,
        "at_its_points_over_taken": told / points * taken.points / seconds if known else None,
        "outside_by_a_factor": max(least / seconds, seconds / most, 1.0),
        "outside_by_a_factor_in_each_round": outside,
        "told_points": points,
        "points": taken.points,
        "told_megabytes": costs[0].bytes / 1e6,
        "megabytes": taken.bytes / 1e6,
        "memory_told_over_taken": costs[0].bytes / taken.bytes,
    }


def of_source(source: Source, rounds: int) -> dict[str, Any]:
    """A source of number naming, from its checkpoints."""
    asked = (source.trajectory, source.losses, source.layers)
    taken, costs = in_turn(
        lambda: priority_field(*asked, train=source.examples()),
        lambda: {"checkpoints": field_cost(*asked, train=source.examples())},
        rounds,
    )
    return {way: beside(each, taken) for way, each in costs.items()}


def of_neox(optimizer: str, folder: Path, rounds: int) -> dict[str, Any]:
    """A small GPT-NeoX, from its checkpoints and from its config alone."""
    transformers: Any = importlib.import_module("transformers")  # which no type checker should read
    config = transformers.GPTNeoXConfig(**NEOX, attn_implementation="eager")
    torch.manual_seed(0)
    model = transformers.GPTNeoXForCausalLM(config).eval()
    tokens = torch.randint(0, NEOX["vocab_size"], (ROWS, LENGTH))
    rules = {"sgd": torch.optim.SGD(model.parameters(), 0.02), "adam": torch.optim.Adam(model.parameters(), 1e-3)}
    for step in range(INTERVALS * EVERY + 1):
        if step % EVERY == 0:
            model.save_pretrained(folder / f"checkpoint-{step}")
        rules[optimizer].zero_grad()
        causal_lm_losses(model, tokens).mean().backward()
        rules[optimizer].step()
    trajectory = Trajectory.open(folder, reader=read_weights)
    asked = (trajectory, ModuleLosses(model, causal_lm_losses), layers_of(model))
    file = folder / "config.json"
    file.write_text(json.dumps(NEOX))
    each = WindowCost.of(file, LENGTH)

    def estimates() -> dict[str, FieldCost]:
        rate = measured_rate(file, LENGTH)
        return {
            "checkpoints": field_cost(*asked, train=tokens),
            "config": each.field(rate=rate, examples=ROWS, intervals=INTERVALS),
        }

    taken, costs = in_turn(lambda: priority_field(*asked, train=tokens), estimates, rounds)
    return {way: beside(found, taken) for way, found in costs.items()}


def of_pythia(folder: Path) -> dict[str, Any]:
    """Hours and gigabytes for the configs of Pythia, of which nothing is run."""
    outcome = {}
    for name, (hidden, layers, heads) in PYTHIA.items():
        file = folder / f"{name}.json"
        shape = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads}
        shape |= {"intermediate_size": 4 * hidden, "vocab_size": 50304, "max_position_embeddings": 2048}
        file.write_text(json.dumps({"model_type": "gpt_neox", "rotary_pct": 0.25, **shape}))
        each = WindowCost.of(file, TOKENS)
        costs = {machine: each.field(**FIELD, **about, memory=MEMORY[name]) for machine, about in MACHINES.items()}
        hours = {
            f"{machine}_hours_{end}": cost.seconds_range[place] / 3600
            for machine, cost in costs.items()
            if cost.seconds_range
            for place, end in enumerate(("least", "most"))
        }
        outcome[name] = {**hours, "worker_gigabytes": costs["gpu"].bytes / 1e9, "events": costs["gpu"].events}
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, help="the trained reference source; trained if not given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--cases", nargs="+", choices=CASES, default=CASES, help="others stay as they are in the file"
    )
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as name, threadpool_limits(1):
        folder = Path(name)
        pythia = of_pythia(folder)
        for case in chosen.cases:
            kind, optimizer = case.split("_")
            if kind == "neox":
                found[case] = of_neox(optimizer, folder / case, chosen.rounds)
            else:
                kept = chosen.source if optimizer == "sgd" and chosen.source else folder / case
                found[case] = of_source(train_source(SourceConfig.parse(SOURCES[optimizer]), kept), chosen.rounds)
    for case, ways in found.items():
        for way, one in ways.items():
            told = " to ".join(f"{one[end]:.1f}" for end in ("told_seconds_least", "told_seconds_most"))
            print(
                f"{case:12s} from {way:12s} {told:12s} s told, {one['cpu_seconds']:6.1f} s taken; "
                f"outside by a factor of {one['outside_by_a_factor']:.2f}, asked <= {FACTOR}; "
                f"points {one['told_points']:.2f} and {one['points']:.2f}; "
                f"MB {one['told_megabytes']:.1f} and {one['megabytes']:.1f}"
            )
    for name, one in pythia.items():
        print(
            f"Pythia {name:5s} "
            + "  ".join(f"{what.replace('_', ' ')} {value:,.3g}" for what, value in one.items())
        )
    if chosen.json:
        before: dict[str, Any] = read_json(chosen.json) if chosen.json.exists() else {}
        software = {**before.get("made_with", {}), **{case: made_with() for case in found}}
        write_json(
            chosen.json,
            {
                "measured": {**before.get("measured", {}), **found},
                "pythia": pythia,
                "asked": {"outside_by_a_factor": f"<= {FACTOR}"},
                "made_with": {case: software[case] for case in CASES if case in software},
            },
        )


if __name__ == "__main__":
    main()
