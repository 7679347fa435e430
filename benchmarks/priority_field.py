"""Cost of the priority field on the paper's reference source, against straightforward ways of measuring it.

The straightforward ways take the gradient of every event's loss and its product with the population gradient: one
backward pass per event, or all at once by `torch.func.vmap(grad)` over padded rows. Ours is one more backward
pass per layer through the graph of the population gradient. All run on one thread, in alternating rounds; the
median of CPU seconds counts, which a busy machine disturbs less than the clock on the wall. The loop is timed on a
part of the events and scaled up.

A roofline says how near ours comes to what the machine can do. A short run of Adam with minibatches shows what the
path rule costs where it has to refine.

Differences of forward passes are compared with the second backward pass on one interval of the path rule: largest
error as a share of the largest entry, CPU time, and peak memory. The second comparison is of a small GPT-2, with
fused attention against eager attention.
"""

import argparse
import importlib
import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from quantascope.discovery import PriorityField, Rule, factorize, priority_field
from quantascope.discovery.groups import resolve_groups
from quantascope.discovery.interval import Interval
from quantascope.discovery.memory import PeakMemory
from quantascope.discovery.priority import prepare
from quantascope.models import Transformer
from quantascope.models.hugging_face import causal_lm_losses, read_weights
from quantascope.models.transformer import Block
from quantascope.runs.artefact import write_json
from quantascope.runs.provenance import made_with
from quantascope.sources.losses import ModuleLosses, TiedLosses
from quantascope.sources.source import Source
from quantascope.sources.trained import OBJECTIVE, SourceConfig, read_source, train_source
from quantascope.tasks.events import Events
from quantascope.tasks.number_naming import PANELS, naming_events
from quantascope.training import Trajectory
from roofline import Roofline, medians

SHORT = {"optimizer": {"name": "adam", "learning_rate": 0.003}, "batch": 32, "steps": 1000, "replays": 0}
"""A short run, of 1,000 updates on 32 of 300 examples."""
LAYERS = {f"block {block}": f"blocks.{block}.*" for block in range(3)}


class PaddedTransformer(nn.Module):
    """The same network on one padded row, as `vmap` needs it."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, position: Tensor, target: Tensor) -> Tensor:
        model = self.model
        length = len(tokens)
        hidden = model.embedding(tokens) + model.position.weight[:length]
        closed = torch.ones(length, length).triu(1).bool()
        for block in model.blocks:
            assert isinstance(block, Block)
            normed = block.attention_norm(hidden)
            key, value = block.key_value(normed).chunk(2, -1)
            scores = block.query(normed) @ key.T / key.shape[-1] ** 0.5
            read = block.out(scores.masked_fill(closed, -torch.inf).softmax(-1) @ value)
            middle = hidden + read
            hidden = middle + block.down(nn.functional.gelu(block.up(block.mlp_norm(middle))))
        logits = model.head(model.norm(hidden))
        return nn.functional.cross_entropy(logits.index_select(0, position[None]), target[None])


def by_vmap(model: Transformer, state: dict[str, Tensor], events: Events, population: dict[str, Tensor]) -> Tensor:
    """Every event's gradient at once, some at a time, and its product with the population gradient by layer."""
    padded = PaddedTransformer(model)

    def loss(parameters: dict[str, Tensor], tokens: Tensor, position: Tensor, target: Tensor) -> Tensor:
        named = {f"model.{name}": value for name, value in parameters.items()}
        return functional_call(padded, named, (tokens, position, target))

    gradients = vmap(grad(loss), in_dims=(None, 0, 0, 0), chunk_size=256)(
        state, events.tokens[events.example], events.position, events.target
    )
    return torch.stack(
        [
            sum_of((gradients[name] * population[name]).flatten(1).sum(1) for name in members(state, pattern))
            for pattern in LAYERS.values()
        ]
    )


def by_loop(model: Transformer, state: dict[str, Tensor], events: Events, population: dict[str, Tensor]) -> Tensor:
    """One backward pass per event."""
    losses = ModuleLosses(model)
    columns = []
    for event in range(events.count):
        example = int(events.example[event])
        alone = Events(
            events.tokens[example : example + 1],
            torch.zeros(1, dtype=torch.long),
            events.position[event : event + 1],
            events.target[event : event + 1],
            events.length[example : example + 1],
        )
        leaves = {name: value.detach().requires_grad_() for name, value in state.items()}
        found = torch.autograd.grad(losses(leaves, alone).sum(), list(leaves.values()), allow_unused=True)
        gradient = dict(zip(leaves, found, strict=True))
        columns.append(
            torch.stack(
                [
                    sum_of((gradient[name] * population[name]).sum() for name in members(state, pattern))
                    for pattern in LAYERS.values()
                ]
            )
        )
    return torch.stack(columns, 1)


def members(state: dict[str, Tensor], pattern: str) -> list[str]:
    return [name for name in state if name.startswith(pattern.removesuffix("*"))]


def sum_of(parts: Iterable[Tensor]) -> Tensor:
    return torch.stack(list(parts)).sum(0)


def population_gradient(model: Transformer, state: dict[str, Tensor], events: Events) -> dict[str, Tensor]:
    leaves = {name: value.detach().requires_grad_() for name, value in state.items()}
    loss = ModuleLosses(model)(leaves, events).mean()
    return dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def field_of(source: Source, events: Events, steps: list[int], rule: Rule = "gradient") -> PriorityField:
    return priority_field(source.trajectory.at(steps), source.losses, source.layers, train=events, rule=rule)


def network_of(source: Source) -> Transformer:
    """The trained network, which must be one of ours."""
    model = source.model()
    assert isinstance(model, Transformer)
    return model


def compared(differences: Interval, backward: Interval, index: int, rounds: int) -> dict[str, float]:
    """The two forms of derivatives on one interval: error, and ratios of time and memory."""
    forms = {"differences": differences, "backward": backward}
    near, exact = (form(index)["values"] for form in forms.values())
    taken = medians({name: lambda form=form: form(index) for name, form in forms.items()}, rounds)
    peaks = {}
    for name, form in forms.items():
        with PeakMemory() as used:
            form(index)
        peaks[name] = used.peak
    return {
        "error": float((near - exact).abs().max() / exact.abs().max()),
        "time": taken["differences"] / taken["backward"],
        "memory": peaks["differences"] / peaks["backward"],
    }


def measure_differences(source: Source, rounds: int) -> dict[str, float]:
    """Both forms on the reference source, and on a GPT-2 if transformers is installed."""
    backward = prepare(source.trajectory, source.losses, source.layers, train=source.examples())
    middle = len(source.steps) // 2
    found = compared(replace(backward, derivatives="differences"), backward, middle, rounds)
    outcome = {f"differences_{name}": value for name, value in found.items()}
    if importlib.util.find_spec("transformers"):
        with tempfile.TemporaryDirectory() as folder:
            outcome |= {f"fused_{name}": value for name, value in measure_fused(Path(folder), rounds).items()}
    return outcome


def measure_fused(folder: Path, rounds: int) -> dict[str, float]:
    """Differences with fused attention against a second backward pass with eager attention."""
    transformers: Any = importlib.import_module("transformers")  # which no type checker should read

    def build(attention: str) -> Any:
        return transformers.GPT2LMHeadModel(
            transformers.GPT2Config(
                vocab_size=256, n_embd=64, n_layer=4, n_head=4, n_positions=128, attn_implementation=attention,
                bos_token_id=0, eos_token_id=0,
            )
        ).eval()  # fmt: skip

    torch.manual_seed(0)
    model, tokens = build("eager"), torch.randint(0, 256, (32, 128))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for step in range(21):
        if step % 10 == 0:
            model.save_pretrained(folder / f"checkpoint-{step}")
        optimizer.zero_grad()
        causal_lm_losses(model, tokens).mean().backward()
        optimizer.step()
    layers = {f"layer {layer}": f"transformer.h.{layer}.*" for layer in range(4)}
    trajectory = Trajectory.open(folder, reader=read_weights)
    fused, eager = (
        prepare(trajectory, ModuleLosses(build(attention), causal_lm_losses), layers, train=tokens)
        for attention in ("sdpa", "eager")
    )
    assert (fused.derivatives, eager.derivatives) == ("differences", "backward")
    return compared(fused, eager, 1, rounds)


def measure(source: Source, rounds: int, looped: int) -> dict[str, float]:
    """All ratios, from one source."""
    events, model, steps = source.events(), network_of(source), source.steps
    trajectory, middle = source.trajectory, len(steps) // 2
    state = trajectory.load(middle)
    part = events[: max(1, looped * len(events) // events.count)]
    population = population_gradient(model, state, events)
    optimizer = torch.optim.SGD(model.parameters(), 0.03)

    losses = TiedLosses.of(ModuleLosses(model), state)
    named = resolve_groups(LAYERS, state, losses)
    interval = Interval(trajectory, losses, named, events, events, "gradient", 0.01, len(events))

    def update() -> None:
        OBJECTIVE(model, events, 0)
        optimizer.step()

    ours = interval(middle)["values"] / float(trajectory.learning_rate_mass[middle])
    theirs = by_vmap(model, state, events, population)
    scale = float(theirs.abs().max())
    taken = medians(
        {
            "ours": lambda: interval(middle),
            "vmap": lambda: by_vmap(model, state, events, population),
            "gradient": lambda: population_gradient(model, state, events),
            "update": update,
        },
        rounds,
    )
    loop = seconds(lambda: by_loop(model, state, part, population)) * events.count / part.count
    many = naming_events(PANELS["calibration"]()[:2000])
    growth_events = seconds(lambda: field_of(source, many, steps[:9])) / seconds(
        lambda: field_of(source, many[900:1100], steps[:9])
    )
    growth_steps = seconds(lambda: field_of(source, events, steps[:41])) / seconds(
        lambda: field_of(source, events, steps[:5])
    )
    rules: tuple[Rule, Rule] = ("gradient", "path")
    whole = {
        rule: seconds(lambda rule=rule: factorize(field_of(source, events, steps, rule).values)) for rule in rules
    }
    training = taken["update"] * 5000
    roof = Roofline.of(
        lambda: interval(middle), rows=len(events.rows), inner=model.width, outer=model.config.hidden
    )
    return {
        "faster_than_vmap": taken["vmap"] / taken["ours"],
        "faster_than_loop": loop / taken["ours"],
        "largest_difference": float((ours - theirs).abs().max()) / scale,
        "population_gradients_per_layer": taken["ours"] / taken["gradient"] / len(LAYERS),
        "growth_for_ten_times_the_events": growth_events,
        "growth_for_ten_times_the_intervals": growth_steps,
        "discovery_share_of_training_gradient": whole["gradient"] / training,
        "discovery_share_of_training_path": whole["path"] / training,
        **{f"roofline_{name}": value for name, value in asdict(roof).items()},
    }


def measure_short(folder: Path, node_at_bound: float) -> dict[str, float]:
    """The path rule on a short run of Adam with minibatches: share of training, nodes, and completeness.

    `node_at_bound` are the seconds of a node if each of its operations ran at the rate of the machine.
    """
    config = SourceConfig.parse(SHORT)
    began = time.process_time()
    source = train_source(config, folder)
    training = time.process_time() - began
    interval = prepare(source.trajectory, source.losses, source.layers, train=source.examples())
    taken, columns = 0, list[dict[str, Tensor]]()
    began = time.process_time()
    for index in range(config.intervals):
        column, nodes = interval.counted(index)
        columns.append(column)
        taken += nodes
    seconds_taken = time.process_time() - began
    last = interval.checked_losses(config.intervals)
    credit = sum(float(one["values"].sum() + one["other"].sum()) for one in columns)
    return {
        "short_share_of_training": seconds_taken / training,
        "short_share_of_training_at_bound": taken * node_at_bound / training,
        "short_nodes_per_interval": taken / config.intervals,
        "short_completeness": credit / float((columns[0]["losses"] - last).sum()),
        "short_example_nodes_per_trained_example": taken * len(interval.events) / (32 * config.steps),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, help="a trained source; one of 500 steps is trained if not given")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--looped", type=int, default=100, help="events of the loop")
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        if chosen.source:
            source = read_source(chosen.source)
        else:
            source = train_source(SourceConfig(steps=500, replays=0), Path(folder) / "source")
        found = measure(source, chosen.rounds, chosen.looped) | measure_differences(source, chosen.rounds)
        node_at_bound = found["roofline_cpu_seconds"] * found["roofline_share_of_bound"]
        found |= measure_short(Path(folder) / "short", node_at_bound)
    asked = {
        "faster_than_vmap": ">= 8",
        "faster_than_loop": ">= 100",
        "largest_difference": "<= 1e-4",
        "population_gradients_per_layer": "<= 2.5",
        "growth_for_ten_times_the_events": "about 10",
        "growth_for_ten_times_the_intervals": "about 10",
        "discovery_share_of_training_gradient": "< 0.03",
        "discovery_share_of_training_path": "< 0.03",
        "differences_error": "<= 1e-3",
        "differences_time": "no figure",
        "differences_memory": "< 1",
        "fused_error": "<= 1e-3",
        "fused_time": "no figure",
        "fused_memory": "< 1",
        "short_share_of_training": "< 0.3",
        "short_completeness": "0.99 to 1.01",
    }
    for name, value in found.items():
        print(f"{name.replace('_', ' '):45s} {value:10.3g}   asked {asked.get(name, 'no figure')}")
    if chosen.json:
        write_json(chosen.json, {"measured": found, "asked": asked, "made_with": made_with()})


if __name__ == "__main__":
    main()
