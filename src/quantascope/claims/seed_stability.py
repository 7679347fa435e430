"""Which quanta come back when the source is trained again from another seed; the paper leaves it open.

All sources see the same 300 numbers, so supports of two of them are over the same events. Factors are matched one
to one by the correlation of their supports, and the match is compared with that after shuffling the events: all of
them, or, more strictly, only those that share their output word, or, more strictly still, only those that share
output word, digit length and output position.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import torch
from jaxtyping import Int

from quantascope.claims.claim import Claim
from quantascope.claims.recover_quanta import QUICK, SOURCES, MeasuredSource, measured_source, seeded
from quantascope.claims.result import Estimate
from quantascope.discovery import Recurrence, Rule, recurrence
from quantascope.runs.config import Config, Positive, PositiveFloat, Seeds
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.trained import SourceConfig, check_source
from quantascope.tasks.events import Events


class SeedStability(Config):
    """Sources that differ in their seed alone."""

    source: SourceConfig = SourceConfig()
    seeds: Seeds = (0, 1, 2, 3, 4)
    threshold: PositiveFloat = 0.03
    permutations: Positive = 200


Within = Literal["words", "contexts"]
"""Which events are shuffled among each other: those of one output word, or of one word, length and position."""


def groups(events: Events, within: Within) -> Int[np.ndarray, " events"]:
    """The group of each event: its output word, or that with the digits of the input and the place in the output.

    >>> from quantascope.tasks.number_naming import naming_events
    >>> events = naming_events([17, 18, 700])
    >>> [[len(set(groups(events, within).tolist())) for within in ("words", "contexts")], events.count]
    [[5, 6], 7]
    """
    if within == "words":
        return events.target.numpy()
    digits = events.length - torch.bincount(events.example, minlength=len(events))
    columns = torch.stack([events.target, digits[events.example], events.index], 1).numpy()
    return np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1)


def recurring(
    config: SeedStability, sources: list[MeasuredSource], rule: Rule, *, within: Within | None = None
) -> list[Recurrence]:
    """For each source, where its factors recur: beyond chance, or beyond what groups of events explain."""
    if len(sources) < 2:
        raise InvalidConfig(f"recurrence needs at least two seeds, got {len(sources)}")
    factors = [source.discovery(rule, config.threshold).factors for source in sources]
    shuffled = groups(sources[0].source.events(), within) if within else None
    return recurrence(factors, within=shuffled, permutations=config.permutations)


def measure(config: SeedStability, evidence: Mapping[str, MeasuredSource]) -> dict[str, Estimate]:
    """How well the factors of each source are found again in the others, under both rules."""
    sources = list(evidence.values())
    figures: dict[str, Estimate] = {}
    for rule in ("gradient", "path"):
        for within, beyond in NULLS:
            found = recurring(config, sources, rule, within=within)
            null = f"_within_{within}" if within else ""
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
            matched = [float(np.nanmean(one.mcc)) for one in found]  # the same under every null
            figures[f"match_{rule}"] = Estimate.over_runs(f"mean MCC of matched supports, {rule} rule", matched)
            figures[f"chance{null}_{rule}"] = Estimate.over_runs(
                f"MCC to be beyond {beyond}, {rule} rule", [float(np.nanmean(one.chance)) for one in found]
            )
    return figures


NULLS: tuple[tuple[Within | None, str], ...] = (
    (None, "chance"),
    ("words", "their output word"),
    ("contexts", "their output word, digit length and position"),
)
CLAIM = Claim(
    name="seed-stability",
    says="which quanta recur when the source is trained again from another seed",
    presets={
        "quick": SeedStability(source=QUICK, seeds=(0, 1), permutations=20),
        "full": SeedStability(),
        "paper": SeedStability(),
    },
    runs=lambda config: seeded(config.source, config.seeds, "seed"),
    prepare=check_source,
    work=measured_source,
    steps=lambda source: source.steps,
    measure=measure,
    shares=SOURCES,
)
