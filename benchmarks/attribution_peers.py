"""Each event's credit under the population update, per layer: ours beside other libraries for attribution.

    credit of event e in layer l  =  <∇_l L_e, ∇_l mean L>

at one checkpoint of one model, on one thread, every way in a process of its own. An event is the prediction of one
token, so that the events of a row share their tokens: ours runs a row once, the others need each event alone. CPU
time counts; memory is that of the tensors alive at once, the model and the events left out. The others are asked
about a part of the rows and their time is scaled up, as it is linear in events; values are compared on that part.

    loop         one backward pass per event
    vmap         per-sample gradients by torch.func.vmap(grad), so many at a time
    opacus       per-sample gradients by Opacus' hooks, so many at a time
    captum       TracInCP, a pass for each layer
    captum-fast  TracInCPFast, which knows the weight of the last linear map only: the head's credit, no layer's
    dattri       TracInAttributor without projection, a pass for each layer

Peers are not dependencies; those that are absent are skipped by name. To install them beside the environment:

    pip install --no-deps --target PEERS captum opacus dattri
    PYTHONPATH=PEERS python benchmarks/attribution_peers.py
"""

import argparse
import copy
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from quantascope.discovery.interval import linearize
from quantascope.discovery.linearized import Parameters
from quantascope.discovery.memory import Footprint, PeakMemory
from quantascope.models import Transformer, TransformerConfig
from quantascope.models.hugging_face import causal_lm_losses
from quantascope.models.transformer import Block
from quantascope.runs.artefact import write_json
from quantascope.runs.provenance import made_with
from quantascope.sources.losses import ModuleLosses
from quantascope.tasks.events import Events
from quantascope.tasks.number_naming import PANELS, naming_events

WAYS = ("ours", "loop", "vmap", "opacus", "captum", "captum-fast", "dattri")
PACKAGE = {"opacus": "opacus", "captum": "captum", "captum-fast": "captum", "dattri": "dattri"}
AT_ONCE = 16
"""Events of which the others hold gradients at once."""
MEMORY = {"source": 50e6, "neox": 72e6}
"""Bytes that ours may use for its derivatives."""


class EventTransformer(nn.Module):
    """Our Transformer on padded rows, asked for one event of each."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:
        model, length = self.model, tokens.shape[1]
        hidden = model.embedding(tokens) + model.position.weight[:length]
        closed = torch.ones(length, length).triu(1).bool()
        for block in model.blocks:
            assert isinstance(block, Block)
            normed = block.attention_norm(hidden)
            key, value = block.key_value(normed).chunk(2, -1)
            scores = block.query(normed) @ key.mT / key.shape[-1] ** 0.5
            hidden = hidden + block.out(scores.masked_fill(closed, -torch.inf).softmax(-1) @ value)
            hidden = hidden + block.down(nn.functional.gelu(block.up(block.mlp_norm(hidden))))
        return model.head(model.norm(_chosen(hidden, position)))


class EventNeoX(nn.Module):
    """A GPT-NeoX on whole rows, asked for one event of each."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:
        length = tokens.shape[1]
        closed = torch.full((length, length), torch.finfo(torch.float32).min).triu(1)
        places = torch.arange(length).expand(tokens.shape)
        mask = closed.expand(len(tokens), 1, length, length)
        body = self.model.gpt_neox
        read = body(input_ids=tokens, attention_mask=mask, position_ids=places, use_cache=False)
        return self.model.get_output_embeddings()(_chosen(read.last_hidden_state, position))


def _chosen(hidden: Tensor, position: Tensor) -> Tensor:
    which = (torch.arange(hidden.shape[1]) == position[:, None]).to(hidden)
    return (hidden * which[..., None]).sum(1)


@dataclass(frozen=True, eq=False)
class Case:
    """A model in the form of ours and of the others, and what is measured of it."""

    size: str
    events: Events
    losses: ModuleLosses
    alone: nn.Module
    layers: dict[str, str]
    """The prefix of each layer's parameters in `alone`."""
    head: str

    @property
    def parameters(self) -> Parameters:
        return dict(self.alone.named_parameters())

    @cached_property
    def chunk(self) -> int:
        """The rows of which ours takes derivatives at once, by the budget, as a priority field chooses them."""
        at = {name.removeprefix("model."): value.detach() for name, value in self.parameters.items()}

        def derivatives(some: slice) -> object:
            return linearize("backward", self.losses, at, [self.events[some]]).along([at])

        return Footprint.of(derivatives, available=len(self.events)).within(MEMORY[self.size])

    def members(self, layer: str) -> list[str]:
        return [name for name in self.parameters if name.startswith(self.layers[layer])]


def number_naming() -> Case:
    """The shape of the reference source: 29,196 parameters, 1,651 events."""
    model = Transformer(vocabulary=44, positions=20, config=TransformerConfig(), seed=0)
    layers = {f"block {block}": f"model.blocks.{block}." for block in range(model.depth)}
    events, losses = naming_events(PANELS["training"]()), ModuleLosses(model)
    return Case("source", events, losses, EventTransformer(model), layers, "model.head")


def neox() -> Case:
    """A GPT-NeoX of 6.6 million parameters on 256 rows of 16 predictions."""
    transformers: Any = importlib.import_module("transformers")
    torch.manual_seed(0)
    config = transformers.GPTNeoXConfig(
        vocab_size=512, hidden_size=256, num_hidden_layers=8, num_attention_heads=4, intermediate_size=1024,
        max_position_embeddings=32, attn_implementation="eager",
    )  # fmt: skip
    model = transformers.GPTNeoXForCausalLM(config).eval()
    windows = torch.randint(0, 512, (256, 17), generator=torch.Generator().manual_seed(1)).tolist()
    layers = {f"layer {layer}": f"model.gpt_neox.layers.{layer}." for layer in range(8)}
    losses = ModuleLosses(model, causal_lm_losses)
    head = next(f"model.{name}" for name, part in model.named_modules() if part is model.get_output_embeddings())
    return Case("neox", Events.of_text(windows), losses, EventNeoX(model), layers, head)


CASES: dict[str, Callable[[], Case]] = {"source": number_naming, "neox": neox}
ROWS = {"source": 12, "neox": 2}
"""Rows on which the others are timed."""


def ours(case: Case, events: Events) -> Tensor:
    """The product with the mean gradient of all events at once, by a second backward pass for each layer."""
    at = {name.removeprefix("model."): value.detach() for name, value in case.parameters.items()}
    pieces = [events[start : start + case.chunk] for start in range(0, len(events), case.chunk)]
    here = linearize("backward", case.losses, at, pieces)
    gradient = here.gradient()
    names = {layer: [one.removeprefix("model.") for one in case.members(layer)] for layer in case.layers}
    return here.derivatives([{name: gradient[name] for name in names[layer]} for layer in case.layers])


def rows_of(events: Events) -> tuple[Tensor, Tensor, Tensor]:
    """A padded row for every event, its place, and its token."""
    return events.tokens[events.example], events.position, events.target


def population(case: Case, events: Events) -> Parameters:
    """The gradient of the mean loss, as any of the others would find it."""
    total = {name: torch.zeros_like(value) for name, value in case.parameters.items()}
    tokens, position, target = rows_of(events)
    for start in range(0, len(target), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        loss = nn.functional.cross_entropy(case.alone(tokens[some], position[some]), target[some], reduction="sum")
        for name, one in _gradient(case, loss).items():
            total[name] += one / len(target)
    return total


def _gradient(case: Case, loss: Tensor) -> Parameters:
    found = torch.autograd.grad(loss, list(case.parameters.values()), allow_unused=True)
    return {name: one for name, one in zip(case.parameters, found, strict=True) if one is not None}


def by_layer(case: Case, gradients: Parameters, update: Parameters) -> Tensor:
    """Products of per-sample gradients with the update."""
    products = {
        layer: [(gradients[name].flatten(1) @ update[name].flatten()) for name in case.members(layer)]
        for layer in case.layers
    }
    return torch.stack([torch.stack(parts).sum(0) for parts in products.values()])


def loop(case: Case, events: Events) -> Tensor:
    """One backward pass per event."""
    update = population(case, events)
    columns = []
    for tokens, position, target in zip(*(part.split(1) for part in rows_of(events)), strict=True):
        loss = nn.functional.cross_entropy(case.alone(tokens, position), target)
        columns.append(by_layer(case, {n: g[None] for n, g in _gradient(case, loss).items()}, update))
    return torch.cat(columns, 1)


def by_vmap(case: Case, events: Events) -> Tensor:
    """Per-sample gradients by vmap."""
    update, at = population(case, events), {name: value.detach() for name, value in case.parameters.items()}

    def loss(parameters: Parameters, tokens: Tensor, position: Tensor, target: Tensor) -> Tensor:
        logits = functional_call(case.alone, parameters, (tokens[None], position[None]))
        return nn.functional.cross_entropy(logits, target[None])

    per_sample = vmap(grad(loss), in_dims=(None, 0, 0, 0))
    parts = zip(*(part.split(AT_ONCE) for part in rows_of(events)), strict=True)
    return torch.cat([by_layer(case, per_sample(at, *part), update) for part in parts], 1)


def by_opacus(case: Case, events: Events) -> Tensor:
    """Per-sample gradients by hooks."""
    update = population(case, events)
    inside, model = {name for layer in case.layers for name in case.members(layer)}, copy.deepcopy(case.alone)
    for name, value in model.named_parameters():
        value.requires_grad_(name in inside)
    module = importlib.import_module("opacus.grad_sample").GradSampleModule
    hooked = module(model, loss_reduction="sum", strict=False).train()  # its hooks do nothing else; no dropout
    columns = []
    for tokens, position, target in zip(*(part.split(AT_ONCE) for part in rows_of(events)), strict=True):
        hooked.zero_grad()
        nn.functional.cross_entropy(hooked(tokens, position), target, reduction="sum").backward()
        samples = {
            name: cast(Any, value).grad_sample for name, value in model.named_parameters() if name in inside
        }
        columns.append(by_layer(case, samples, update))
    return torch.cat(columns, 1)


def by_captum(case: Case, events: Events, *, fast: bool = False) -> Tensor:
    """TracInCP at one checkpoint of weight one, summed over the test examples, which are the same events."""
    tokens, position, target = rows_of(events)
    data = torch.utils.data.TensorDataset(tokens, position, target)
    library = importlib.import_module("captum.influence")
    loss = nn.CrossEntropyLoss(reduction="sum" if fast else "none")
    settings = {
        "checkpoints": ["here"], "checkpoints_load_func": lambda model, path: 1.0, "loss_fn": loss,
        "batch_size": AT_ONCE,
    }  # fmt: skip
    asked = (tokens, position, target)
    if fast:
        only = library.TracInCPFast(case.alone, case.alone.get_submodule(case.head), data, **settings)
        return only.influence(asked).mean(0)[None]
    prefixes = [prefix.removesuffix(".") for prefix in case.layers.values()]
    made = [library.TracInCP(case.alone, data, layers=[prefix], **settings) for prefix in prefixes]
    return torch.stack([one.influence(asked, aggregate=True).flatten() / len(target) for one in made])


def by_dattri(case: Case, events: Events) -> Tensor:
    """TracInAttributor; its test gradient is the update, the gradient of a product with it."""
    update, data = population(case, events), torch.utils.data.TensorDataset(*rows_of(events))
    task_of, attributor_of = (
        getattr(importlib.import_module(module), name)
        for module, name in (("dattri.task", "AttributionTask"), ("dattri.algorithm.tracin", "TracInAttributor"))
    )

    def loss(parameters: Parameters, one: tuple[Tensor, ...]) -> Tensor:
        tokens, position, target = one
        logits = functional_call(case.alone, parameters, (tokens[None], position[None]))
        return nn.functional.cross_entropy(logits, target[None])

    def along(parameters: Parameters, one: tuple[Tensor, ...]) -> Tensor:
        return sum(((parameters[name] * update[name]).sum() for name in update), torch.zeros(()))

    here = {name: value.detach().clone() for name, value in case.parameters.items()}
    once = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(1, 1)))
    columns = []
    for layer in case.layers:
        task = task_of(loss_func=loss, model=case.alone, checkpoints=[here], target_func=along)
        attributor = attributor_of(
            task=task, weight_list=torch.ones(1), normalized_grad=False, layer_name=case.members(layer)
        )
        attributor.projector_kwargs = None
        columns.append(attributor.attribute(torch.utils.data.DataLoader(data, batch_size=AT_ONCE), once).flatten())
    return torch.stack(columns)


CREDIT: dict[str, Callable[[Case, Events], Tensor]] = {
    "ours": ours,
    "loop": loop,
    "vmap": by_vmap,
    "opacus": by_opacus,
    "captum": by_captum,
    "captum-fast": lambda case, events: by_captum(case, events, fast=True),
    "dattri": by_dattri,
}


def head_credit(case: Case, events: Events) -> Tensor:
    """The credit that TracInCPFast should find, by our derivatives: that of the head's weight without its bias."""
    return ours(replace(case, layers={"head": f"{case.head}.weight"}), events)


def measure_one(size: str, way: str, file: Path) -> None:
    """CPU seconds of all events and bytes at once, in this process; the credit of the part goes to a file too."""
    torch.set_num_threads(1)
    case = CASES[size]()
    part, work = case.events[: ROWS[size]], CREDIT[way]
    measured = case.events if way == "ours" else part
    work(case, case.events[:1])  # imports, and what is made once
    began = time.process_time()
    credit = work(case, measured)
    seconds = (time.process_time() - began) * case.events.count / measured.count
    with PeakMemory() as used:
        work(case, case.events[: 2 * case.chunk] if way == "ours" else part)
    if way == "ours":
        credit = torch.cat([work(case, part), head_credit(case, part)])
    torch.save({"credit": credit, "seconds": seconds, "bytes": used.peak}, file)


def measure(size: str, ways: list[str], folder: Path) -> dict[str, Any]:
    """Every way on one size, beside ours."""
    case, found = CASES[size](), {}
    for way in ways:
        file = folder / f"{size}-{way}.pt"
        command = [sys.executable, __file__, "--one", size, way, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["no message"]
            last = said[-1] if done.returncode > 0 else f"ended by signal {-done.returncode}"
            print(f"{size:8s} {way:12s} failed: {last}", flush=True)
            found[way] = {"failed": last}
            continue
        one = torch.load(file)
        mine = torch.load(folder / f"{size}-ours.pt")
        own = mine["credit"][-1:] if way == "captum-fast" else mine["credit"][:-1]
        credit = own if way == "ours" else one["credit"]
        found[way] = {
            "cpu_seconds": one["seconds"],
            "megabytes": one["bytes"] / 1e6,
            "slower": one["seconds"] / mine["seconds"],
            "more_memory": one["bytes"] / mine["bytes"],
            "difference": float((credit - own).abs().max() / own.abs().max()),
        }
        row = found[way]
        print(
            f"{size:8s} {way:12s} {row['cpu_seconds']:9.1f} s {row['megabytes']:8.0f} MB   {row['slower']:7.1f} × "
            f"time {row['more_memory']:6.1f} × memory   differs by {row['difference']:.1e}",
            flush=True,
        )
    parameters = sum(value.numel() for value in case.parameters.values())
    return {"parameters": parameters, "events": case.events.count, "timed_events": case.events[: ROWS[size]].count,
            "layers": len(case.layers), "ways": found}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    parser.add_argument("--one", nargs=3, metavar=("SIZE", "WAY", "FILE"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        measure_one(chosen.one[0], chosen.one[1], Path(chosen.one[2]))
        return
    absent = sorted({PACKAGE[way] for way in chosen.ways if way in PACKAGE and not _installed(PACKAGE[way])})
    for package in absent:
        print(f"{package} is not installed and is skipped; pip install --no-deps --target PEERS {package}")
    ways = ["ours", *(way for way in chosen.ways if way != "ours" and PACKAGE.get(way) not in absent)]
    with tempfile.TemporaryDirectory() as folder:
        found = {size: measure(size, ways, Path(folder)) for size in chosen.sizes}
    versions = {package: importlib.import_module("importlib.metadata").version(package) for package in
                {PACKAGE[way] for way in ways if way in PACKAGE}}  # fmt: skip
    if chosen.json:
        write_json(chosen.json, {"measured": found, "peers": versions, "absent": absent, "made_with": made_with()})
    else:
        print(json.dumps(versions))


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


if __name__ == "__main__":
    main()
