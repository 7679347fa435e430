"""Does the source use what the Q-model's writers write? The paper leaves it open.

Each writer is silenced in the Q-model, and what it wrote is taken away in the source; both effects are compared
(`qmodel.recovered.source_effects`).
"""

from collections.abc import Mapping
from functools import lru_cache

from quantascope.claims.recovered_models import (
    FULL_MODELS,
    PAPER_MODELS,
    QUICK_MODELS,
    FittedSource,
    RecoveredModels,
    over_sources,
    presets_of,
    recovered_claim,
)
from quantascope.claims.result import Estimate
from quantascope.qmodel.recovered.fidelity import every_event
from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.qmodel.recovered.source_effects import KINDS, Comparison, compare
from quantascope.runs.config import Config, Positive

PANEL = "causal"


class SourceFaithfulness(Config):
    """The Q-models that are compared with their sources, on every so many numbers of the causal panel."""

    models: RecoveredModels = FULL_MODELS
    every: Positive = 2


@lru_cache(maxsize=64)
def compared(run: RecoveredRun, every: int) -> Comparison:
    """The comparison of a Q-model with its source, measured once."""
    return compare(run.model, run.source.model(), every_event(run.source, PANEL, every))


def measure(config: SourceFaithfulness, evidence: Mapping[str, FittedSource]) -> dict[str, Estimate]:
    """Correlations of predicted and found effects, and mean effects, over sources."""
    figures: dict[str, Estimate] = {}
    for preset, prefix in presets_of(evidence):
        for kind in KINDS:
            for key, says in (
                ("correlation", "correlation of predicted and found effect"),
                ("rank_correlation", "rank correlation of predicted and found effect"),
                ("within_writers", "mean correlation over a writer's own events"),
                ("mean_effect", "mean change of the source's NLL"),
            ):

                def value(run: RecoveredRun, key=key, kind=kind) -> float:
                    return getattr(compared(run, config.every), key)(kind)

                unit = "nats" if key == "mean_effect" else ""
                words = kind.replace("_", " ")
                figures[f"{prefix}{key}_{kind}"] = over_sources(evidence, preset, f"{says}, {words}", value, unit)
        figures[f"{prefix}predicted_effect"] = over_sources(
            evidence,
            preset,
            "mean change of the Q-model's NLL",
            lambda run: float(compared(run, config.every).predicted.mean()),
            "nats",
        )
    return figures


CLAIM = recovered_claim(
    name="source-faithfulness",
    says="what writers write matters to the source as the Q-model predicts",
    presets={
        "quick": SourceFaithfulness(models=QUICK_MODELS, every=16),
        "full": SourceFaithfulness(),
        "paper": SourceFaithfulness(models=PAPER_MODELS),
    },
    measure=measure,
)
