"""Later factors are less frequent and more complex (section 5.2, figure 6c; appendix G.3).

The same fields are factored at three thresholds. Acquisition time is correlated by rank with packet complexity and
with demand over complexity, pooled over a source's factors. Factors of one source share a trajectory; the
interval is over sources.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator

from quantascope.config import Config, Distinct, PositiveFloat, Seeds
from quantascope.experiments.claim import Claim
from quantascope.experiments.naming_source import NamingSource
from quantascope.experiments.recover_quanta import QUICK, SOURCES, MeasuredSource, measured_source, seeded
from quantascope.experiments.result import Estimate
from quantascope.priority import Ordering, Rule, ordering


def _whole_percent(thresholds: tuple[float, ...]) -> tuple[float, ...]:
    for threshold in thresholds:
        if not 0 < threshold < 1 or abs(100 * threshold - round(100 * threshold)) > 1e-9:
            raise ValueError(f"threshold {threshold:g} is not a whole number of percent")
    return thresholds


class AcquisitionOrder(Config):
    """Sources by seed, factored at several thresholds."""

    source: NamingSource = NamingSource()
    seeds: Seeds = (0, 1, 2, 3, 4)
    thresholds: Annotated[tuple[PositiveFloat, ...], Distinct, AfterValidator(_whole_percent)] = (0.01, 0.03, 0.05)


def orders(config: AcquisitionOrder, sources: list[MeasuredSource], rule: Rule) -> list[list[Ordering]]:
    """The ordering of every source at every threshold."""
    found = [[source.discovery(rule, threshold) for threshold in config.thresholds] for source in sources]
    return [[ordering(one.factors, one.complexity) for one in row] for row in found]


def measure(config: AcquisitionOrder, evidence: Mapping[str, MeasuredSource]) -> dict[str, Estimate]:
    """The paper's correlations by its own rule, and the same along the path."""
    figures: dict[str, Estimate] = {}
    rules: tuple[tuple[Rule, str], ...] = (("gradient", ""), ("path", "_path"))
    for rule, suffix in rules:
        found = orders(config, list(evidence.values()), rule)
        for column, threshold in enumerate(config.thresholds):
            percent = f"{100 * threshold:.0f}"
            at = [row[column] for row in found]
            by = f"{percent} %, {rule} rule"
            figures |= {
                f"factors_{percent}_percent{suffix}": Estimate.over_runs(
                    f"factors at {by}", [one.factors for one in at], "factors"
                ),
                f"time_complexity_{percent}_percent{suffix}": Estimate.over_runs(
                    f"time and complexity at {by}", [one.time_complexity for one in at]
                ),
                f"time_demand_{percent}_percent{suffix}": Estimate.over_runs(
                    f"time and demand at {by}", [one.time_demand for one in at]
                ),
                f"time_demand_over_complexity_{percent}_percent{suffix}": Estimate.over_runs(
                    f"time and demand over complexity at {by}", [one.time_demand_over_complexity for one in at]
                ),
            }
        figures[f"predicted_signs{suffix}"] = Estimate.over_runs(
            f"layers and thresholds with both predicted signs, {rule} rule",
            [sum(one.predicted_layers for one in row) for row in found],
            "comparisons",
        )
        figures[f"defined_signs{suffix}"] = Estimate.over_runs(
            f"layers and thresholds whose factors differ in time, {rule} rule",
            [sum(one.layers for one in row) for row in found],
            "comparisons",
        )
    return figures


CLAIM = Claim(
    name="ordering",
    says="later factors are less frequent and involve more of the network",
    presets={
        "quick": AcquisitionOrder(source=QUICK, seeds=(0,)),
        "full": AcquisitionOrder(),
        "paper": AcquisitionOrder(seeds=(0,)),
    },
    runs=lambda config: seeded(config.source, config.seeds, "seed"),
    prepare=lambda source: source.training,
    work=measured_source,
    steps=lambda source: source.steps,
    measure=measure,
    shares=SOURCES,
)
