"""Are the units that we find the right ones? Networks whose units are known event by event.

Each source is a `TaskMLP` that learns a forest of parities from fresh batches by plain SGD. An event is a row of a
held-out panel: a task and an input. The known units are the local parities on the task's path; a flat task has
one, a composed one a private and a shared one. Methods see the checkpoints and the events, never the tasks.

    sources     networks trained here, or taken from --runs if they are there
    measured    the priority field under both rules, per-event gradients of the last checkpoint, loss curves
    methods     our factors and variants; clusterings, which are told the number of tasks
    scores      best-match F1 with the units and adjusted mutual information with the tasks, over seeds

Settings were fixed on seeds 100 and 101. The outcome is written as JSON and printed as the tables of
docs/findings/known-units.md.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.func import grad, vmap

from quantascope.acquisition.learner import HSPLearner, learn
from quantascope.claims.result import Estimate
from quantascope.discovery import (
    Factors,
    PriorityField,
    Rule,
    factorize,
    factorize_corrective,
    factorize_fingerprints,
    priority_field,
)
from quantascope.discovery.nulls.baselines import side_by_side
from quantascope.discovery.nulls.clusterings import (
    cluster_gradients_by_means,
    cluster_gradients_spectrally,
    cluster_nmf,
    cluster_rows,
    cluster_svd,
    dominant_factor,
)
from quantascope.discovery.score import adjusted_mutual_information, best_match_f1, supports_of
from quantascope.models import MLPConfig
from quantascope.models.mlp import logits
from quantascope.runs.artefact import read_json, write_json
from quantascope.runs.provenance import made_with
from quantascope.runs.run_directory import RunDirectory
from quantascope.tasks.hsp import (
    Batch,
    ComposedFamily,
    Family,
    FlatFamily,
    Forest,
    FreshBatches,
    LevelRatio,
    RegularFamily,
    balanced_panel,
    build_forest,
)
from quantascope.training import TrainingConfig, Trajectory
from quantascope.training.optimizer import OptimizerConfig

LAYERS = {
    "embedding": "embedding",
    "hidden 1": ["weight.0", "bias.0"],
    "hidden 2": ["weight.1", "bias.1"],
    "readout": ["weight.2", "bias.2"],
}
POPULATION = 4096
SEEDS = tuple(range(6, 14))  # those below had been scored before the fingerprints took their present form
Scores = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Source:
    """A family of forests and how it is learned and measured."""

    family: Callable[[int], Family]
    steps: int
    learning_rate: float
    intervals: int
    inputs: int = 32

    def learner(self, seed: int) -> HSPLearner:
        """The run of one seed, which is that of supports, demand, network and batches."""
        checkpoints = np.rint(np.linspace(0, self.steps, self.intervals + 1)).astype(int)
        return HSPLearner(
            family=self.family(seed),
            model=MLPConfig(width=128),
            batch_size=1024,
            model_seed=seed,
            data_seed=7000 + seed,
            training=TrainingConfig(
                steps=self.steps,
                evaluate_every=self.steps // 4,
                optimizer=OptimizerConfig(name="sgd", learning_rate=self.learning_rate),
                checkpoints=tuple(checkpoints.tolist()),
            ),
        )


SOURCES = {
    "flat, 16 units": Source(
        lambda seed: FlatFamily(tasks=16, pool=16, distractors=0, support_seed=seed, rank_seed=seed),
        steps=4_000,
        learning_rate=0.3,
        intervals=200,
    ),
    "two levels, 24 units": Source(
        lambda seed: RegularFamily(
            roots=8, branching=2, depth=1, pool=32, demand=LevelRatio(ratio=2.0), support_seed=seed
        ),
        steps=6_000,
        learning_rate=1.0,
        intervals=200,
    ),
    "composed, 20 units": Source(
        lambda seed: ComposedFamily(tasks=16, shared=4, pool=16, distractors=0, support_seed=seed, rank_seed=seed),
        steps=6_000,
        learning_rate=0.3,
        intervals=200,
    ),
    "flat, 64 units": Source(
        lambda seed: FlatFamily(tasks=64, pool=32, distractors=0, support_seed=seed, rank_seed=seed),
        steps=10_000,
        learning_rate=1.0,
        intervals=200,
        inputs=16,
    ),
}


@dataclass(frozen=True)
class Rows:
    """Examples of a forest, to be cut in ranges."""

    batch: Batch

    def __len__(self) -> int:
        return len(self.batch.task)

    def __getitem__(self, some: slice) -> Batch:
        return Batch(*(column[some] for column in self.batch))


@dataclass(frozen=True, eq=False)
class Measured:
    """Everything that a method may look at, and the truth that only scores may."""

    forest: Forest
    events: Rows
    trajectory: Trajectory
    fields: Mapping[Rule, PriorityField]
    final_loss: float

    @cached_property
    def gradients(self) -> dict[str, Float[Tensor, "events _"]]:
        """The gradient of each event's loss at the last checkpoint, by tensor."""
        parameters = self.trajectory.load(len(self.trajectory) - 1)
        one = vmap(grad(_loss_of_one), in_dims=(None, 0, 0, 0), chunk_size=256)
        return {name: value.flatten(1) for name, value in one(parameters, *self.events.batch).items()}

    @cached_property
    def gram(self) -> Float[np.ndarray, "events events"]:
        """Inner products of the events' gradients."""
        return sum((rows @ rows.T for rows in self.gradients.values()), torch.zeros(())).numpy()

    @property
    def embedding_gram(self) -> Float[np.ndarray, "events events"]:
        """Inner products of the gradients of the embedding alone."""
        rows = self.gradients["embedding"]
        return (rows @ rows.T).numpy()

    @property
    def tasks(self) -> int:
        """The number that clusterings are told."""
        return len(self.forest.tasks)

    @property
    def task(self) -> Int[np.ndarray, " events"]:
        """The task of each event."""
        return self.events.batch.task.numpy()

    @property
    def units(self) -> Bool[np.ndarray, "units events"]:
        """The events that use each unit."""
        return self.forest.requires[self.task].T


@dataclass(frozen=True, eq=False)
class Found:
    """What a method found: supports, and one label for each event."""

    supports: Bool[np.ndarray, "found events"]
    label: Int[np.ndarray, " events"]


def of_factors(factors: Factors) -> Found:
    return Found(factors.supports, dominant_factor(factors))


def of_clusters(label: Int[np.ndarray, " events"]) -> Found:
    return Found(supports_of(label), label)


def chosen_layer(seen: Measured) -> Float[np.ndarray, "events intervals"]:
    """The layer of the path field that the fingerprints chose."""
    factors = factorize_fingerprints(seen.fields["path"].values)
    return seen.fields["path"].values[factors.layer[0]].astype(np.float64)


METHODS: dict[str, Callable[[Measured], Found]] = {
    "paper's factors, gradient rule": lambda seen: of_factors(factorize(seen.fields["gradient"].values)),
    "paper's factors, path rule": lambda seen: of_factors(factorize(seen.fields["path"].values)),
    "corrective factors, gradient rule": lambda seen: of_factors(
        factorize_corrective(seen.fields["gradient"].values)
    ),
    "corrective factors, path rule": lambda seen: of_factors(factorize_corrective(seen.fields["path"].values)),
    "fingerprints, gradient rule": lambda seen: of_factors(factorize_fingerprints(seen.fields["gradient"].values)),
    "fingerprints, path rule": lambda seen: of_factors(factorize_fingerprints(seen.fields["path"].values)),
    "fingerprints of signs, path rule": lambda seen: of_factors(
        factorize_fingerprints(seen.fields["path"].values, power=0)
    ),
    "spectral clustering of gradients": lambda seen: of_clusters(
        cluster_gradients_spectrally(seen.gram, seen.tasks)
    ),
    "k-means of gradients": lambda seen: of_clusters(cluster_gradients_by_means(seen.gram, seen.tasks)),
    "spectral clustering, embedding gradients": lambda seen: of_clusters(
        cluster_gradients_spectrally(seen.embedding_gram, seen.tasks)
    ),
    "NMF of the path field": lambda seen: of_clusters(
        cluster_nmf(side_by_side(seen.fields["path"].values), seen.tasks)
    ),
    "SVD of the path field": lambda seen: of_clusters(
        cluster_svd(side_by_side(seen.fields["path"].values), seen.tasks)
    ),
    "NMF of the fingerprints' layer": lambda seen: of_clusters(cluster_nmf(chosen_layer(seen), seen.tasks)),
    "SVD of the fingerprints' layer": lambda seen: of_clusters(cluster_svd(chosen_layer(seen), seen.tasks)),
    "k-means of loss curves": lambda seen: of_clusters(
        cluster_rows(seen.fields["path"].losses.astype(np.float64), seen.tasks)
    ),
}


def event_losses(parameters: Mapping[str, Tensor], batch: Batch) -> Float[Tensor, " events"]:
    """Cross-entropy of each row in nats."""
    margin = torch.diff(logits(parameters, batch.signs, batch.task)).squeeze(1)
    return torch.nn.functional.softplus(-margin * batch.target)


def _loss_of_one(parameters: Mapping[str, Tensor], signs: Tensor, task: Tensor, target: Tensor) -> Tensor:
    return event_losses(parameters, Batch(signs[None], task[None], target[None]))[0]


def measure(source: Source, seed: int, folder: Path) -> Measured:
    """Train the source of a seed and measure its fields, or read them."""
    learner = source.learner(seed)
    curves = learn(learner, folder)
    forest = build_forest(learner.family)
    panel = balanced_panel(forest, inputs=source.inputs, seed=200_000 + seed)
    tasks = len(forest.tasks)
    events = Rows(
        Batch(
            panel.signs.reshape(tasks * source.inputs, -1).contiguous(),
            torch.arange(tasks).repeat_interleave(source.inputs),
            panel.target.reshape(-1),
        )
    )
    population = Rows(FreshBatches(forest, batch_size=POPULATION, seed=300_000 + seed)(0))
    trajectory, made_by = Trajectory.open(folder), RunDirectory.open(folder, learner).hash
    fields: dict[Rule, PriorityField] = {}
    for rule in ("gradient", "path"):
        file = folder / f"priority-{rule}.safetensors"
        if not file.exists():
            field = priority_field(
                trajectory, event_losses, LAYERS, train=population, events=events, rule=rule, tolerance=0.1
            )
            field.save(file, made_by=made_by)
        fields[rule] = PriorityField.load(file, made_by=made_by)
    return Measured(forest, events, trajectory, fields, float(curves.loss[-1]))


def score(seen: Measured, method: str) -> dict[str, float]:
    """Best-match F1, adjusted mutual information and the number found, of one method."""
    found = METHODS[method](seen)
    return {
        "f1": best_match_f1(found.supports, seen.units),
        "ami": adjusted_mutual_information(found.label, seen.task),
        "found": float(len(found.supports)),
    }


def about(seen: Measured) -> dict[str, float]:
    """How good the source and its fields are."""
    fields = seen.fields.items()
    return {
        "final_loss_bits": seen.final_loss,
        **{f"completeness_{rule}": field.completeness for rule, field in fields},
        **{f"event_correlation_{rule}": field.event_correlation for rule, field in fields},
    }


def outcome_of(source: Source, seed: int, folder: Path) -> dict[str, Scores]:
    """Scores of the methods and facts about the source of one seed, measured once and kept beside its run."""
    file = folder / "scores.json"
    kept = read_json(file) if file.exists() else {"scores": {}}
    missing = [method for method in METHODS if method not in kept["scores"]]
    if missing:
        seen = measure(source, seed, folder)
        added = {method: score(seen, method) for method in missing}
        kept = {"scores": kept["scores"] | added, "source": {"facts": about(seen)}}
        write_json(file, kept)
    return kept


def over_seeds(runs: list[dict[str, float]]) -> dict[str, Estimate]:
    return {key: Estimate.over_runs(key, [run[key] for run in runs]) for key in runs[0]}


def leader(scores: Scores) -> str:
    best = max(scores, key=lambda method: scores[method]["ami"])
    return f"{best} leads with F1 {scores[best]['f1']:.3f} and AMI {scores[best]['ami']:.3f}"


def table(outcome: Mapping[str, Mapping[str, Mapping[str, Estimate]]], key: str) -> str:
    """A markdown table of one score: methods down, sources across."""
    lines = ["| method | " + " | ".join(outcome) + " |", "|---|" + "---:|" * len(outcome)]
    for method in METHODS:
        cells = [f"{_cell(scores[method][key])}" for scores in outcome.values()]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(figure: Estimate) -> str:
    if figure.low is None or figure.high is None or figure.mean is None:
        return f"{figure.mean:.2f}"
    return f"{figure.mean:.2f} ± {(figure.high - figure.low) / 2:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--sources", nargs="+", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--runs", type=Path, default=Path("runs/known-quanta"))
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    outcome, sources = {}, {}
    for name in chosen.sources:
        runs = []
        for seed in chosen.seeds:
            folder = chosen.runs / f"{name.replace(', ', '-').replace(' ', '-')}-{seed}"
            runs.append(outcome_of(SOURCES[name], seed, folder))
            print(f"{name}, seed {seed}: {leader(runs[-1]['scores'])}", flush=True)
        outcome[name] = {method: over_seeds([run["scores"][method] for run in runs]) for method in METHODS}
        sources[name] = over_seeds([run["source"]["facts"] for run in runs])
    for key, title in (("f1", "best-match F1"), ("ami", "adjusted mutual information"), ("found", "found")):
        print(f"\n{title}\n\n{table(outcome, key)}")
    if chosen.json:
        write_json(
            chosen.json,
            {
                "seeds": list(chosen.seeds),
                "made_with": made_with(),
                "sources": {
                    name: {key: asdict(one) for key, one in facts.items()} for name, facts in sources.items()
                },
                "scores": {
                    name: {
                        method: {key: asdict(one) for key, one in figures.items()}
                        for method, figures in scores.items()
                    }
                    for name, scores in outcome.items()
                },
            },
        )


if __name__ == "__main__":
    main()
