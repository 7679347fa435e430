"""Later factors are less frequent and more complex (section 5.2, figure 6c; appendix G.3).

The same fields are factored at three thresholds. Acquisition time is correlated by rank with packet complexity and
with demand over complexity, pooled over a source's factors. Factors of one source share a trajectory, so intervals
are over sources. Each figure is compared with that of three nulls. Random packets, sets of as many events as the
factors have or single events, have their own curves: what they show as well is a property of the trajectory. The
factors of a surrogate field have continuous loadings: what they show as well is a property of the factorization.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator

from quantascope.claims.claim import Claim, no_summary
from quantascope.claims.recover_quanta import (
    PAPER_SOURCE,
    QUICK,
    SOURCES,
    Definitions,
    MeasuredSource,
    measured_source,
    seeded,
)
from quantascope.claims.result import Estimate
from quantascope.discovery import Ordering, Rule, ordering
from quantascope.discovery.closure import closed
from quantascope.discovery.discover import Discovery
from quantascope.discovery.factorize import Starts, factorize
from quantascope.discovery.factors import Factors
from quantascope.discovery.nulls.beside import packets, surrogates
from quantascope.runs.config import Config, Distinct, Positive, PositiveFloat, Seeds
from quantascope.sources.trained import SourceConfig, check_source

Null = Literal["sets", "events", "loadings"]


def _whole_percent(thresholds: tuple[float, ...]) -> tuple[float, ...]:
    for threshold in thresholds:
        if not 0 < threshold < 1 or abs(100 * threshold - round(100 * threshold)) > 1e-9:
            raise ValueError(f"threshold {threshold:g} is not a whole number of percent")
    return thresholds


class AcquisitionOrder(Config):
    """Sources by seed, factored at several thresholds.

    `definitions="paper"` uses the authors' start of the factorization and closes factors under their parents.
    """

    LATER: ClassVar[tuple[str, ...]] = ("definitions",)

    source: SourceConfig = SourceConfig()
    seeds: Seeds = (0, 1, 2, 3, 4)
    thresholds: Annotated[tuple[PositiveFloat, ...], Distinct, AfterValidator(_whole_percent)] = (0.01, 0.03, 0.05)
    draws: Positive = 10
    """How often a null is drawn for each source; its mean over draws is the source's."""
    definitions: Definitions = "ours"

    @property
    def starts(self) -> Starts:
        """How the factorization starts."""
        return "paper" if self.definitions == "paper" else "scaled"


@dataclass(frozen=True)
class Orders:
    """The ordering of one source's factors at one threshold, and of what the nulls have in their place."""

    found: Ordering
    random: Mapping[Null, Sequence[Ordering]]

    @classmethod
    def of(cls, one: Discovery, draws: int, definitions: Definitions = "ours") -> "Orders":
        """The ordering of a discovery's factors, and of every null."""
        factors = closed(one.factors) if definitions == "paper" else one.factors
        random: dict[Null, list[Ordering]] = {
            kind: [_ordered(one, drawn) for drawn in _drawn(one, kind, draws)] for kind in NULLS
        }
        return cls(_ordered(one, factors), random)

    def mean(self, figure: str, kind: Null) -> float:
        """The mean of a figure over the draws that define it; NaN if none does."""
        values = np.array([getattr(one, figure) for one in self.random[kind]], dtype=np.float64)
        defined = values[np.isfinite(values)]
        return float(defined.mean()) if defined.size else float("nan")


def _drawn(found: Discovery, kind: Null, draws: int) -> list[Factors]:
    if kind == "loadings":
        fields = surrogates(found, "loadings", draws)
        return [factorize(field, threshold=found.threshold) for field in fields]
    return packets(found, kind, draws)


def _ordered(found: Discovery, factors: Factors) -> Ordering:
    complexity = found.complexity_of(factors)
    assert complexity is not None, "the hidden units of our Transformer are known"
    return ordering(factors, complexity)


def measure(config: AcquisitionOrder, evidence: Mapping[str, MeasuredSource]) -> dict[str, Estimate]:
    """The paper's correlations by its own rule, the same along the path, and both of random packets."""
    figures: dict[str, Estimate] = {}
    rules: tuple[tuple[Rule, str], ...] = (("gradient", ""), ("path", "_path"))
    for rule, suffix in rules:
        found = [
            [
                Orders.of(
                    source.discovery(rule, threshold, starts=config.starts), config.draws, config.definitions
                )
                for threshold in config.thresholds
            ]
            for source in evidence.values()
        ]
        for column, threshold in enumerate(config.thresholds):
            percent = f"{100 * threshold:.0f}"
            at = [row[column] for row in found]
            by = f"{percent} %, {rule} rule"
            figures[f"factors_{percent}_percent{suffix}"] = Estimate.over_runs(
                f"factors at {by}", [one.found.factors for one in at], "factors"
            )
            for name, says in CORRELATIONS.items():
                key = f"{name}_{percent}_percent{suffix}"
                figures[key] = Estimate.over_runs(f"{says} at {by}", [getattr(one.found, name) for one in at])
                for kind, what in NULLS.items():
                    if name == "time_demand" and kind == "events":
                        continue  # single events all have the same demand
                    figures[f"{key}_random_{kind}"] = Estimate.over_runs(
                        f"{says} of {what} at {by}", [one.mean(name, kind) for one in at]
                    )
        for name, key, says in SIGNS:
            figures[f"{key}{suffix}"] = Estimate.over_runs(
                f"layers and thresholds {says}, {rule} rule",
                [sum(getattr(one.found, name) for one in row) for row in found],
                "comparisons",
            )
            for kind, what in NULLS.items():
                figures[f"{key}{suffix}_random_{kind}"] = Estimate.over_runs(
                    f"layers and thresholds {says}, {what}, {rule} rule",
                    [sum(one.mean(name, kind) for one in row) for row in found],
                    "comparisons",
                )
    return figures


CORRELATIONS = {
    "time_complexity": "time and complexity",
    "time_demand": "time and demand",
    "time_demand_over_complexity": "time and demand over complexity",
}
SIGNS = (
    ("predicted_layers", "predicted_signs", "with both predicted signs"),
    ("layers", "defined_signs", "whose factors differ in time"),
)
NULLS: dict[Null, str] = {
    "sets": "random sets of equal size",
    "events": "random single events",
    "loadings": "factors of continuous loadings",
}

CLAIM = Claim(
    name="ordering",
    says="later factors are less frequent and involve more of the network",
    presets={
        "quick": AcquisitionOrder(source=QUICK, seeds=(0,), draws=2),
        "full": AcquisitionOrder(),
        "paper": AcquisitionOrder(source=PAPER_SOURCE, seeds=(0,), definitions="paper"),
    },
    runs=lambda config: seeded(config.source, config.seeds, "seed"),
    prepare=check_source,
    work=measured_source,
    steps=lambda source: source.steps,
    measure=measure,
    summary=no_summary,
    keeps_figure=True,
    shares=SOURCES,
)
