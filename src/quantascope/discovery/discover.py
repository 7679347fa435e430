"""From a trained source to its quanta.

source  -> fields     priority of the training events and of a held-out panel, measured once and kept
fields  -> factors    binary supports and acquisition curves
factors -> files      `factors.safetensors`, from the latest call
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
from jaxtyping import Bool, Float, Int

from quantascope.discovery.complexity import packet_complexity
from quantascope.discovery.factorize import (
    MOST_FACTORS,
    Starts,
    assign,
    check_threshold,
    explained_share,
    factorize,
    negative_mass,
)
from quantascope.discovery.factors import Factors
from quantascope.discovery.field import PriorityField
from quantascope.discovery.interval import Rule
from quantascope.discovery.measure import (
    DOUBTS,
    FieldProgress,
    doubts_of,
    measure_field,
    read_field,
    warn_of_doubts,
)
from quantascope.discovery.memory import check_budget
from quantascope.discovery.ordering import improvement_correlation
from quantascope.runs.artefact import read_facts
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.sources.source import Source

FACTORS = "factors.safetensors"


def discover(
    source: Source,
    *,
    rule: Rule = "path",
    threshold: float = 0.03,
    panel: str | None = None,
    engine: Executor | None = None,
    memory: float = 2e9,
    progress: FieldProgress | None = None,
) -> "Discovery":
    """Measure the fields of the source's training events and of a held-out panel, and factor the first."""
    check_threshold(threshold)
    check_budget(memory)
    panel = held_out_panel(source, panel)
    with source.locked():
        trained, held_out = (
            measure_field(source, rule, name, engine=engine, memory=memory, progress=progress)
            for name in ("training", panel)
        )
    found = Discovery(source, threshold, trained, held_out, panel=panel)
    if not len(found.factors):
        raise InvalidConfig(f"no factor explains {threshold:g} of its layer; {_largest_share(source, trained)}")
    return found


def held_out_panel(source: Source, panel: str | None) -> str:
    """The requested panel, or the task's; raises if it does not exist or is not held out."""
    chosen = panel or source.task.roles.held_out
    if chosen is None:
        raise InvalidConfig(
            f"the task of {source.folder} has no held-out panel; add one named held_out to its panels"
        )
    source.inputs(chosen)
    if chosen in ("training", source.trained_on, source.measured_on):
        raise InvalidConfig(f"the panel '{chosen}' is not held out; name another, such as {_other(source)}")
    return chosen


def _other(source: Source) -> str:
    return source.task.roles.held_out or "held_out"


@dataclass(frozen=True, eq=False)
class Discovery:
    """The quanta of one source under one rule and threshold; given `known` factors, nothing is factored again."""

    source: Source
    threshold: float
    trained: PriorityField
    held_out: PriorityField
    starts: Starts = field(default="scaled", kw_only=True)
    panel: str | None = field(default=None, kw_only=True)
    """The name of the held-out panel."""
    known: InitVar[Factors | None] = field(default=None, kw_only=True)
    factors: Factors = field(init=False)

    def __post_init__(self, known: Factors | None) -> None:
        found = known
        if known is None:
            found = factorize(self.trained, threshold=self.threshold, starts=self.starts)
        object.__setattr__(self, "factors", found)

    def __repr__(self) -> str:
        """The quanta and where they are from; the fields would fill pages."""
        reliable = "reliable" if self.trained.reliable else "unreliable"
        return (
            f"Discovery({len(self.factors)} quanta of {self.source.folder} at {self.threshold:g}, "
            f"{reliable} {self.trained.rule} field)"
        )

    @cached_property
    def doubts(self) -> str | None:
        """What speaks against the order or origin of the checkpoints, as `audit` would find it."""
        return doubts_of(self.source, self.trained.rule)

    @property
    def names(self) -> list[str]:
        """A name for each factor: its layer, and its number within it."""
        return self.factors.names

    @property
    def per_layer(self) -> Int[np.ndarray, " layers"]:
        """Number of factors in each layer."""
        return np.bincount(self.factors.layer, minlength=len(self.trained.layers))

    @property
    def full_layers(self) -> list[str]:
        """Layers that reached the limit of factors and may have more."""
        return [
            name for name, count in zip(self.trained.layers, self.per_layer, strict=True) if count >= MOST_FACTORS
        ]

    @property
    def acquired(self) -> Int[np.ndarray, " factors"]:
        """The step by which each factor has half of its mass."""
        return self.trained.steps[self.factors.acquisition_interval + 1]

    @cached_property
    def assigned(self) -> Factors:
        """The factors with the same curves and with supports on the held-out events."""
        return assign(self.factors, self.held_out.values)

    @cached_property
    def explained(self) -> Float[np.ndarray, " layers"]:
        """Share of each layer's squared held-out priority that the factors explain."""
        return explained_share(self.assigned, self.held_out.values)

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
    def complexity(self) -> Float[np.ndarray, " factors"] | None:
        """Effective number of hidden units that carry each factor's packet, if the hidden units are known."""
        return self.complexity_of(self.factors)

    def complexity_of(self, factors: Factors) -> Float[np.ndarray, " factors"] | None:
        """The same for other factors of this source."""
        if not all(layer in self.source.hidden_units for layer in self.trained.layers):
            return None
        out = np.empty(len(factors))
        for index, layer in enumerate(self.trained.layers):
            own = factors.layer == index
            if own.any():
                groups = np.concatenate(list(self.source.hidden_units[layer].values()))
                out[own] = packet_complexity(factors.curves[own], self._updates[layer], groups)
        return out

    @cached_property
    def _updates(self) -> dict[str, Float[np.ndarray, "intervals parameters"]]:
        """The parameter change in each interval, for each layer's hidden units."""
        states: dict[str, list[np.ndarray]] = {layer: [] for layer in self.trained.layers}
        trajectory = self.source.trajectory.at(self.trained.steps.tolist())
        for index in range(len(trajectory)):
            tensors = trajectory.load(index)
            for layer, kept in states.items():
                parts = [tensors[name].flatten().double().numpy() for name in self.source.hidden_units[layer]]
                kept.append(np.concatenate(parts))
        return {layer: np.diff(np.array(kept), axis=0) for layer, kept in states.items()}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A word for every training event."""
        return self.source.labels()

    def words(self, factor: int, most: int = 4) -> list[str]:
        """The words most typical of a factor's events, by share inside minus share outside."""
        return _typical(*self._counted, self.factors.supports[factor], most)

    @cached_property
    def _counted(self) -> tuple[np.ndarray, Int[np.ndarray, " events"]]:
        """The distinct words, and the index of each training event's word."""
        return np.unique(np.asarray(self.labels), return_inverse=True)

    def table(self) -> pl.DataFrame:
        """One row for each factor, the earliest first."""
        return pl.DataFrame(
            {
                "quantum": self.names,
                "acquired": self.acquired,
                "demand": self.factors.demand,
                "complexity": [None] * len(self.factors) if self.complexity is None else self.complexity,
                "explained": self.factors.explained,
                "words": [", ".join(self.words(index)) for index in range(len(self.factors))],
            },
            schema_overrides={"complexity": pl.Float64},
        ).sort("acquired", "quantum")

    def save(self) -> Path:
        """Save the factors in the source's folder."""
        file = self.source.folder / FACTORS
        about = {
            "source": self.source.identity,
            "rule": self.trained.rule,
            "threshold": self.threshold,
            "reliable": self.trained.reliable,
            "layers": list(self.trained.layers),
            "panel": self.panel,
            **({DOUBTS: self.doubts} if self.doubts else {}),
        }
        self.factors.save(file, made_by=self.source.identity, **about)
        return file


def read_factors(source: Source) -> tuple[Factors, dict[str, Any]]:
    """The factors that `discover` saved for a source, and how they were found."""
    file = source.folder / FACTORS
    if not file.exists():
        raise DamagedArtefact(f"{source.folder} has no factors; find them with {source.command('discover')}")
    factors, facts = Factors.load(file, made_by=source.identity), read_facts(file)
    known = facts.get("rule") in get_args(Rule) and isinstance(facts.get("threshold"), int | float)
    if not known or "reliable" not in facts:
        raise DamagedArtefact(f"{file} does not say how its factors were found; find them again")
    if len(factors) and (last := factors.layer.max()) >= len(source.layers):
        raise DamagedArtefact(f"{file} has factors of layer {last}, and there are {len(source.layers)} layers")
    if isinstance(said := facts.get(DOUBTS), str):
        warn_of_doubts(source, said)
    return factors, facts


def read_discovery(source: Source) -> Discovery:
    """The result that `discover` saved for a source: its factors and the fields they were found in."""
    factors, facts = read_factors(source)
    asked = facts.get("panel")
    panel = held_out_panel(source, asked if isinstance(asked, str) else None)
    trained, held_out = (read_field(source, facts["rule"], name) for name in ("training", panel))
    events, intervals = trained.values.shape[1:]
    if factors.supports.shape[1] != events or factors.curves.shape[1] != intervals:
        raise DamagedArtefact(
            f"{source.folder / FACTORS} has factors of {factors.supports.shape[1]} events and "
            f"{factors.curves.shape[1]} intervals, but the field has {events} and {intervals}; find them again "
            f"with {source.command('discover')}"
        )
    return Discovery(source, facts["threshold"], trained, held_out, panel=panel, known=factors)


def typical_words(labels: Sequence[str], inside: Bool[np.ndarray, " events"], most: int = 4) -> list[str]:
    """Words with a larger share of events inside than outside, the most typical first.

    >>> typical_words(["a", "b", "a", "c"], np.array([True, False, True, False]))
    ['a']
    """
    return _typical(*np.unique(np.asarray(labels), return_inverse=True), inside, most)


def _typical(
    words: np.ndarray, index: Int[np.ndarray, " events"], inside: Bool[np.ndarray, " events"], most: int
) -> list[str]:
    if not inside.any():
        return []
    share = np.bincount(index[inside], minlength=len(words)) / inside.sum()
    lift = share - np.bincount(index[~inside], minlength=len(words)) / max((~inside).sum(), 1)
    return [str(words[word]) for word in np.argsort(-lift, kind="stable")[:most] if lift[word] > 0]


def _largest_share(source: Source, trained: PriorityField) -> str:
    first = factorize(trained.values, threshold=np.finfo(np.float64).tiny, most=1)
    if not len(first):
        return f"the field has no positive priority: check the trajectory with {source.command('audit')}"
    return f"the largest share is {first.explained.max():.3g}: give a threshold no higher than that"


def layer_sums(factors: Factors, layers: int) -> Float[np.ndarray, " layers"]:
    """The share of the field that the factors of each layer explain together."""
    return np.bincount(factors.layer, factors.explained, minlength=layers)


def event_map(
    supports: Bool[np.ndarray, "factors events"], labels: Sequence[str], words: Sequence[str]
) -> Float[np.ndarray, "factors words"]:
    """Share of each word's events that are in each support."""
    of = np.asarray(labels)
    return np.stack([supports[:, of == word].mean(1) for word in words], 1)
