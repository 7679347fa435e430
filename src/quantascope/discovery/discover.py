"""From a trained source to its quanta: field, factors, and what they explain.

Everything that is measured is kept in the run directory of the source:

    priority/RULE-PANEL.safetensors   the field of a panel's events
    factors.safetensors               the factors last asked for
"""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import torch
from jaxtyping import Bool, Float, Int

from quantascope.discovery import (
    Factors,
    ModuleLosses,
    PriorityField,
    Rule,
    assign,
    check_threshold,
    explained_share,
    factorize,
    hidden_unit_groups,
    improvement_correlation,
    negative_mass,
    packet_complexity,
    priority_field,
)
from quantascope.discovery.factorize import MOST_FACTORS
from quantascope.discovery.nulls.baselines import nmf_explained, svd_explained
from quantascope.discovery.nulls.packets import Packet, random_packets
from quantascope.discovery.nulls.surrogate import Values, gaussian_surrogate, loading_surrogate
from quantascope.runs.artefact import read_facts
from quantascope.runs.config import fingerprint
from quantascope.runs.errors import InvalidConfig, RunMismatch
from quantascope.runs.run_directory import RunDirectory
from quantascope.sources.trained import Source, panel_numbers
from quantascope.tasks.number_naming import VOCABULARY, naming_events
from quantascope.training import Trajectory

FACTORS = "factors.safetensors"
SurrogateKind = Literal["loadings", "gaussian"]
Told = Callable[[str, int, int], None]
"""Told what is measured, how many intervals are done, and of how many."""


def measure_field(
    source: Source,
    rule: Rule,
    panel: str = "training",
    *,
    engine: Executor | None = None,
    memory: float = 2e9,
    told: Told | None = None,
) -> PriorityField:
    """The field of a panel's events along the source's trajectory, measured once and kept."""
    made_by = fingerprint({"source": source.config.hash(), "rule": rule, "panel": panel})
    file = source.path / "priority" / f"{rule}-{panel}.safetensors"
    trajectory = source.trajectory.at(source.config.interval_steps)
    checkpoints = _digests(trajectory)
    if file.exists():
        _refuse_other_checkpoints(file, checkpoints)
        return PriorityField.load(file, made_by=made_by)
    numbers = panel_numbers(source.config, panel)
    parts = file.with_suffix(".parts")
    measured = priority_field(
        trajectory,
        ModuleLosses(source.config.build()),
        {f"block {block}": f"blocks.{block}.*" for block in range(source.config.model.blocks)},
        train=source.events,
        events=None if panel == "training" else naming_events(numbers),
        rule=rule,
        memory=memory,
        engine=engine,
        parts=parts,
        progress=None if told is None else lambda done, of: told(f"{rule} priority of {panel} events", done, of),
    )
    measured.save(file, made_by=made_by, checkpoints=checkpoints)
    shutil.rmtree(parts, ignore_errors=True)
    return measured


def _digests(trajectory: Trajectory) -> dict[str, str]:
    """A hash of the files of each step's checkpoint."""
    return {
        str(step): hashlib.sha256(b"".join(shard.read_bytes() for shard in shards)).hexdigest()
        for step, shards in zip(trajectory.steps, trajectory.files, strict=True)
    }


def _refuse_other_checkpoints(file: Path, checkpoints: dict[str, str]) -> None:
    """Refuse a field of checkpoints that have changed since; one that does not say its checkpoints is taken."""
    kept = read_facts(file).get("checkpoints", checkpoints)
    other = [step for step, digest in checkpoints.items() if kept.get(step) != digest]
    if other:
        raise RunMismatch(
            f"{file} was measured from another checkpoint of step {other[0]}; restore that, or remove the field"
        )


@dataclass(frozen=True, eq=False)
class Discovery:
    """The quanta of one source under one rule and threshold."""

    source: Source
    threshold: float
    trained: PriorityField
    held_out: PriorityField
    factors: Factors = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", factorize(self.trained.values, threshold=self.threshold))

    @property
    def names(self) -> list[str]:
        """A name for each factor: its layer, and its number within it."""
        return self.factors.names

    @property
    def per_layer(self) -> Int[np.ndarray, " layers"]:
        """How many factors each layer has."""
        return np.bincount(self.factors.layer, minlength=len(self.trained.layers))

    @property
    def full_layers(self) -> list[str]:
        """Layers with as many factors as are looked for, which may have more."""
        return [
            name for name, count in zip(self.trained.layers, self.per_layer, strict=True) if count >= MOST_FACTORS
        ]

    @property
    def ceiling(self) -> str:
        """Which layers are full, in words; empty if none is."""
        if not self.full_layers:
            return ""
        return (
            f"{', '.join(self.full_layers)}: {MOST_FACTORS} factors are the most that are looked for in a layer; "
            f"there may be more above the threshold {self.threshold:g}"
        )

    @property
    def acquired(self) -> Int[np.ndarray, " factors"]:
        """The step by which each factor has half of its mass."""
        return self.trained.steps[self.factors.acquisition_interval + 1]

    @cached_property
    def assigned(self) -> Factors:
        """The same curves with supports on the held-out events."""
        return assign(self.factors, self.held_out.values)

    @cached_property
    def explained(self) -> Float[np.ndarray, " layers"]:
        """Share of each layer's squared held-out priority that the factors explain."""
        return explained_share(self.assigned, self.held_out.values)

    @cached_property
    def explained_by_svd(self) -> Float[np.ndarray, " layers"]:
        """The same for a signed SVD of the same rank."""
        return svd_explained(self.trained.values, self.held_out.values, self.per_layer)

    @cached_property
    def explained_by_nmf(self) -> Float[np.ndarray, " layers"]:
        """The same for a nonnegative factorization of the same rank."""
        return nmf_explained(self.trained.values, self.held_out.values, self.per_layer)

    @property
    def negative(self) -> Float[np.ndarray, " layers"]:
        """Share of each layer's absolute held-out priority that is negative."""
        return negative_mass(self.held_out.values)

    @property
    def held_out_loss(self) -> Float[np.ndarray, " checkpoints"]:
        """Mean held-out loss at each checkpoint, in nats."""
        return self.held_out.losses.mean(0, dtype=np.float64)

    @property
    def improvement_correlation(self) -> float:
        """Correlation of the mean acquisition curve with held-out improvement; NaN without either."""
        return self.improvement_correlation_of(self.factors)

    def improvement_correlation_of(self, factors: Factors) -> float:
        """The same for other factors of this source."""
        if not len(factors) or self.held_out_loss[-1] >= self.held_out_loss[0]:
            return float("nan")
        return improvement_correlation(factors, self.held_out_loss)

    @cached_property
    def complexity(self) -> Float[np.ndarray, " factors"]:
        """Effective number of hidden units that carry each factor's packet."""
        return self.complexity_of(self.factors)

    def complexity_of(self, factors: Factors) -> Float[np.ndarray, " factors"]:
        """The same for other factors of this source."""
        shape = self.source.config.model
        groups = hidden_unit_groups(inputs=shape.width, hidden=shape.hidden, outputs=shape.width)
        out = np.empty(len(factors))
        for layer in range(shape.blocks):
            own = factors.layer == layer
            if own.any():
                out[own] = packet_complexity(factors.curves[own], self._mlp_updates[layer], groups)
        return out

    def packets(self, of: Packet, draws: int) -> list[Factors]:
        """Random packets in place of the factors, several times; draws are the same at every call."""
        return [
            random_packets(self.factors, self.trained.values, np.random.default_rng(draw), of=of)
            for draw in range(draws)
        ]

    @property
    def explained_in_training(self) -> Float[np.ndarray, " layers"]:
        """Share of each layer's squared training priority that the factors explain."""
        return layer_sums(self.factors, len(self.trained.layers))

    def surrogates(self, kind: SurrogateKind, draws: int) -> list[Values]:
        """Fields that are alike in time and have continuous loadings; draws are the same at every call."""
        values = self.trained.values
        draw = loading_surrogate(values, self.per_layer) if kind == "loadings" else gaussian_surrogate(values)
        return [draw(np.random.default_rng(number)) for number in range(draws)]

    @cached_property
    def _mlp_updates(self) -> Float[np.ndarray, "layers intervals parameters"]:
        """What each interval added to the parameters of each block's MLP."""
        trajectory = self.source.trajectory.at(self.trained.steps.tolist())
        blocks = range(self.source.config.model.blocks)
        states = []
        for index in range(len(trajectory)):
            tensors = trajectory.load(index)
            states.append(
                [
                    torch.cat([tensors[f"blocks.{block}.{name}"].flatten() for name in _MLP]).double().numpy()
                    for block in blocks
                ]
            )
        return np.diff(np.array(states), axis=0).swapaxes(0, 1)

    def table(self) -> pl.DataFrame:
        """One row for each factor, the earliest first."""
        return pl.DataFrame(
            {
                "quantum": self.names,
                "acquired": self.acquired,
                "demand": self.factors.demand,
                "complexity": self.complexity,
                "explained": self.factors.explained,
                "words": [", ".join(self.words(index)) for index in range(len(self.factors))],
            }
        ).sort("acquired", "quantum")

    def words(self, factor: int, most: int = 4) -> list[str]:
        """Output words that are most typical of a factor's events: share inside less share outside."""
        target, inside = self.source.events.target.numpy(), self.factors.supports[factor]
        if not inside.any():
            return []
        tokens = len(VOCABULARY)
        share = np.bincount(target[inside], minlength=tokens) / inside.sum()
        lift = share - np.bincount(target[~inside], minlength=tokens) / max((~inside).sum(), 1)
        return [VOCABULARY[token] for token in np.argsort(-lift)[:most] if lift[token] > 0]

    @property
    def warning(self) -> str:
        """What is wrong with a field that is not reliable, and what to do."""
        return (
            f"the {self.trained.rule} rule accounts for {self.trained.completeness:.2f} of the loss change, "
            f"correlation {self.trained.event_correlation:.2f} by event: these factors are not quanta; "
            "use --rule path, or check the trajectory with quantascope audit"
        )

    def save(self) -> Path:
        """Keep the factors in the run directory."""
        file = self.source.path / FACTORS
        about = {
            "source": self.source.config.hash(),
            "rule": self.trained.rule,
            "threshold": self.threshold,
            "reliable": self.trained.reliable,
        }
        self.factors.save(file, made_by=self.source.config.hash(), **about)
        return file

    def to_json(self) -> dict[str, Any]:
        """What was found, for machines."""
        return {
            "run": str(self.source.path),
            "rule": self.trained.rule,
            "threshold": self.threshold,
            "reliable": self.trained.reliable,
            "completeness": self.trained.completeness,
            "event_correlation": self.trained.event_correlation,
            "rising_share": self.source.rising_share,
            "layers": [
                {
                    "layer": name,
                    "factors": int(count),
                    "explained": float(explained),
                    "svd": float(svd),
                    "nmf": float(nmf),
                    "negative_mass": float(negative),
                    "full": name in self.full_layers,
                }
                for name, count, explained, svd, nmf, negative in zip(
                    self.trained.layers,
                    self.per_layer,
                    self.explained,
                    self.explained_by_svd,
                    self.explained_by_nmf,
                    self.negative,
                    strict=True,
                )
            ],
            "nll_correlation": None if np.isnan(self.improvement_correlation) else self.improvement_correlation,
            "quanta": self.table().to_dicts(),
        }


def discover(
    source: Source,
    *,
    rule: Rule = "path",
    threshold: float = 0.03,
    panel: str = "priority",
    engine: Executor | None = None,
    memory: float = 2e9,
    told: Told | None = None,
) -> Discovery:
    """Measure the source's training events and a held-out panel, and factor the former."""
    check_threshold(threshold)
    if not memory > 0:
        raise InvalidConfig(f"a memory budget of {memory / 1e9:g} GB is too little; give more than 0")
    panel_numbers(source.config, panel)
    if panel == "training":
        raise InvalidConfig("the training numbers are not held out; name another panel, such as priority")
    with RunDirectory(source.path, source.config).locked():
        trained, held_out = (
            measure_field(source, rule, name, engine=engine, memory=memory, told=told)
            for name in ("training", panel)
        )
    found = Discovery(source, threshold, trained, held_out)
    if not len(found.factors):
        raise InvalidConfig(f"no factor explains {threshold:g} of its layer; {_largest_share(trained)}")
    return found


def _largest_share(trained: PriorityField) -> str:
    first = factorize(trained.values, threshold=np.finfo(np.float64).tiny, most=1)
    if not len(first):
        return "the field has no positive priority: check the trajectory with quantascope audit"
    return f"the largest share is {first.explained.max():.3g}: give a threshold no higher than that"


def layer_sums(factors: Factors, layers: int) -> Float[np.ndarray, " layers"]:
    """What the factors of each layer explain together of the field in which they were found."""
    return np.bincount(factors.layer, factors.explained, minlength=layers)


def event_map(
    supports: Bool[np.ndarray, "factors events"], target: Int[np.ndarray, " events"], words: Sequence[int]
) -> Float[np.ndarray, "factors words"]:
    """Share of the events of each output word that are in each support."""
    return np.stack([supports[:, target == word].mean(1) for word in words], 1)


_MLP = ("up.weight", "up.bias", "down.weight", "down.bias")
