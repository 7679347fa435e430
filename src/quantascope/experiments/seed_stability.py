"""Which quanta come back when the source is trained again from another seed; the paper leaves it open.

All sources see the same 300 numbers, so supports of two of them are over the same events. Factors are matched one
to one by the correlation of their supports, and the match is compared with that after shuffling the events.
"""

from collections.abc import Mapping

import numpy as np

from quantascope.config import Config, Positive, PositiveFloat, Seeds
from quantascope.errors import InvalidConfig
from quantascope.experiments.claim import Claim
from quantascope.experiments.naming_source import NamingSource
from quantascope.experiments.recover_quanta import QUICK, SOURCES, MeasuredSource, measured_source, seeded
from quantascope.experiments.result import Estimate
from quantascope.priority import Recurrence, Rule, recurrence


class SeedStability(Config):
    """Sources that differ in their seed alone."""

    source: NamingSource = NamingSource()
    seeds: Seeds = (0, 1, 2, 3, 4)
    threshold: PositiveFloat = 0.03
    permutations: Positive = 200


def recurring(config: SeedStability, sources: list[MeasuredSource], rule: Rule) -> list[Recurrence]:
    """For each source, where its factors recur."""
    if len(sources) < 2:
        raise InvalidConfig(f"recurrence needs at least two seeds, got {len(sources)}")
    factors = [source.discovery(rule, config.threshold).factors for source in sources]
    return recurrence(factors, permutations=config.permutations)


def measure(config: SeedStability, evidence: Mapping[str, MeasuredSource]) -> dict[str, Estimate]:
    """How well the factors of each source are found again in the others, under both rules."""
    sources = list(evidence.values())
    figures: dict[str, Estimate] = {}
    for rule in ("gradient", "path"):
        found = recurring(config, sources, rule)
        per_source = {
            "recurring": (
                "factors that recur in most other seeds",
                [100 * (one.share > 0.5).mean() for one in found],
            ),
            "recurring_everywhere": (
                "factors that recur in all other seeds",
                [100 * (one.share == 1).mean() for one in found],
            ),
            "unique": ("factors that recur in no other seed", [100 * (one.share == 0).mean() for one in found]),
        }
        for key, (says, values) in per_source.items():
            figures[f"{key}_{rule}"] = Estimate.over_runs(f"{says}, {rule} rule", values, "%")
        figures[f"match_{rule}"] = Estimate.over_runs(
            f"mean MCC of matched supports, {rule} rule", [float(np.nanmean(one.mcc)) for one in found]
        )
        figures[f"chance_{rule}"] = Estimate.over_runs(
            f"largest MCC by chance, 95th percentile, {rule} rule",
            [float(np.nanmean(one.chance)) for one in found],
        )
    return figures


CLAIM = Claim(
    name="seed-stability",
    says="which quanta recur when the source is trained again from another seed",
    presets={
        "quick": SeedStability(source=QUICK, seeds=(0, 1), permutations=20),
        "full": SeedStability(),
        "paper": SeedStability(),
    },
    runs=lambda config: seeded(config.source, config.seeds, "seed"),
    prepare=lambda source: source.training,
    work=measured_source,
    steps=lambda source: source.steps,
    measure=measure,
    shares=SOURCES,
)
