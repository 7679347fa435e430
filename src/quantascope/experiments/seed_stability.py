"""Which quanta come back when the source is trained again from another seed; the paper leaves it open.

All sources see the same 300 numbers, so supports of two of them are over the same events. Factors are matched one
to one by the correlation of their supports, and the match is compared with that after shuffling the events: all of
them, or, more strictly, only those that share their output word.
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


def recurring(
    config: SeedStability, sources: list[MeasuredSource], rule: Rule, *, within_words: bool = False
) -> list[Recurrence]:
    """For each source, where its factors recur: beyond chance, or beyond what the output word explains."""
    if len(sources) < 2:
        raise InvalidConfig(f"recurrence needs at least two seeds, got {len(sources)}")
    factors = [source.discovery(rule, config.threshold).factors for source in sources]
    words = sources[0].source.events.target.numpy() if within_words else None
    return recurrence(factors, within=words, permutations=config.permutations)


def measure(config: SeedStability, evidence: Mapping[str, MeasuredSource]) -> dict[str, Estimate]:
    """How well the factors of each source are found again in the others, under both rules."""
    sources = list(evidence.values())
    figures: dict[str, Estimate] = {}
    for rule in ("gradient", "path"):
        for null, beyond in (("", "chance"), ("_within_words", "their output word")):
            found = recurring(config, sources, rule, within_words=bool(null))
            shares = {
                "recurring": ("factors that recur in most other seeds", [one.share > 0.5 for one in found]),
                "recurring_everywhere": (
                    "factors that recur in all other seeds",
                    [one.share == 1 for one in found],
                ),
                "unique": ("factors that recur in no other seed", [one.share == 0 for one in found]),
            }
            for key, (says, counted) in shares.items():
                figures[f"{key}{null}_{rule}"] = Estimate.over_runs(
                    f"{says} beyond {beyond}, {rule} rule", [100 * one.mean() for one in counted], "%"
                )
            figures[f"chance{null}_{rule}"] = Estimate.over_runs(
                f"MCC to be beyond {beyond}, {rule} rule", [float(np.nanmean(one.chance)) for one in found]
            )
        figures[f"match_{rule}"] = Estimate.over_runs(
            f"mean MCC of matched supports, {rule} rule", [float(np.nanmean(one.mcc)) for one in found]
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
