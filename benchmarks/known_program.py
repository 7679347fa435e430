"""Do factors of a Transformer find the quanta of the program that its task is made of?

The sources are runs of `quantascope train number-naming`, those in results/ of seeds 5 to 7. The truth is the
compiled number-naming program on the same 1,651 training events: which quanta run (those that run on all events
are no units here), and which one writes the token. Methods and scores are those of known_quanta.py; clusterings
are told the number of writing quanta. The network was never told of the program, so this asks whether two
different descriptions of one behaviour agree, not whether a planted answer is found.
"""

import argparse
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.func import functional_call, grad, vmap

from known_quanta import METHODS, over_seeds, score, table
from priority_field import PaddedTransformer, network_of
from quantascope.discovery import PriorityField, Rule
from quantascope.discovery.measure import measure_field
from quantascope.program import compile_program
from quantascope.programs import find_program
from quantascope.runs.artefact import write_json
from quantascope.runs.provenance import made_with
from quantascope.sources.source import Source
from quantascope.sources.trained import read_source


@dataclass(frozen=True, eq=False)
class Measured:
    """A source with its fields, and the program's labels of its events."""

    source: Source
    fields: dict[Rule, PriorityField]
    units: Bool[np.ndarray, "units events"]
    task: Int[np.ndarray, " events"]

    @property
    def tasks(self) -> int:
        """The number that clusterings are told."""
        return len(np.unique(self.task))

    @cached_property
    def gradients(self) -> dict[str, Float[Tensor, "events _"]]:
        """The gradient of each event's loss at the last checkpoint, by tensor."""
        padded, events = PaddedTransformer(network_of(self.source)), self.source.events()
        state = {name: value.detach() for name, value in padded.named_parameters()}

        def loss(parameters: dict[str, Tensor], tokens: Tensor, position: Tensor, target: Tensor) -> Tensor:
            return functional_call(padded, parameters, (tokens, position, target))

        one = vmap(grad(loss), in_dims=(None, 0, 0, 0), chunk_size=256)
        found = one(state, events.tokens[events.example], events.position, events.target)
        return {name: value.flatten(1) for name, value in found.items()}

    @cached_property
    def gram(self) -> Float[np.ndarray, "events events"]:
        """Inner products of the events' gradients."""
        return sum((rows @ rows.T for rows in self.gradients.values()), torch.zeros(())).numpy()

    @property
    def embedding_gram(self) -> Float[np.ndarray, "events events"]:
        """Inner products of the gradients of the embedding alone."""
        rows = self.gradients["model.embedding.weight"]
        return (rows @ rows.T).numpy()


def measure(path: Path) -> Measured:
    """Read a source and its fields, and trace the program on its numbers."""
    source = read_source(path)
    labels = compile_program(find_program("english")).trace(source.inputs("training")).labels
    some = ~labels.active.all(0) & labels.active.any(0)
    rules: tuple[Rule, Rule] = ("gradient", "path")
    fields: dict[Rule, PriorityField] = {rule: measure_field(source, rule) for rule in rules}
    return Measured(source, fields, labels.active[:, some].T.copy(), labels.emitter)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=Path, nargs="+", help="run directories of sources")
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    runs = []
    for path in chosen.sources:
        seen = measure(path)
        runs.append({method: score(seen, method) for method in METHODS})  # pyright: ignore[reportArgumentType]
        print(f"{path}: {len(seen.units)} units, {seen.tasks} writers", flush=True)
    outcome = {"number naming": {method: over_seeds([run[method] for run in runs]) for method in METHODS}}
    for key, says in (("f1", "Best-match F1"), ("ami", "Adjusted mutual information")):
        print(f"\n{says}\n\n{table(outcome, key)}")
    if chosen.json:
        scores = {
            method: {
                key: {"mean": figure.mean, "low": figure.low, "high": figure.high} for key, figure in row.items()
            }
            for method, row in outcome["number naming"].items()
        }
        write_json(chosen.json, {"scores": scores, "sources": len(runs), "made_with": made_with()})


if __name__ == "__main__":
    main()
