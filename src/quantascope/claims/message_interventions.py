"""Messages matter inside the Q-model: what deleting and replacing them costs (section 5.2; appendix G.2).

Beside the paper's two interventions stand all others, with intervals over examples, and what the paper leaves
open: whether a refit from another seed selects the same channels.
"""

import itertools
from collections.abc import Callable, Mapping

import numpy as np

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
from quantascope.qmodel.recovered.effects import InterventionEffects, intervention_effects
from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.qmodel.recovered.interventions import Effect
from quantascope.runs.config import Config

PANEL = "causal"


class MessageInterventions(Config):
    """The Q-models that are intervened on."""

    models: RecoveredModels = FULL_MODELS


KINDS: dict[str, tuple[str, Callable[[InterventionEffects], list[Effect]]]] = {
    "deletion": ("all messages deleted", lambda found: [found.deleted]),
    "replacement": ("messages replaced by matched ones", lambda found: [found.replaced]),
    "one_deletion": ("the channel that matters most deleted", lambda found: found.one_deleted),
    "quantum": ("the quantum that matters most ablated", lambda found: found.quantum),
    "forced": ("the gate that matters most forced open", lambda found: found.forced),
    "writer": ("the writer that matters most ablated", lambda found: found.writer),
}


def strongest(effects: list[Effect]) -> Effect | None:
    """The effect that costs most accuracy."""
    return max(effects, key=lambda one: one.accuracy_drop, default=None)


def measure(config: MessageInterventions, evidence: Mapping[str, FittedSource]) -> dict[str, Estimate]:
    """Accuracy lost and NLL gained by each intervention, over sources and over examples; stability of channels."""
    figures: dict[str, Estimate] = {}
    for preset, prefix in presets_of(evidence):
        first, named = next(iter(evidence.values())).of(preset)[0], ", distilled" if prefix else ""
        for key, (says, which) in KINDS.items():

            def worst(run: RecoveredRun, which=which) -> Effect | None:
                return strongest(which(intervention_effects(run, PANEL)))

            figures[f"{prefix}{key}_drop"] = over_sources(
                evidence, preset, f"accuracy lost, {says}", lambda run, worst=worst: _drop(worst(run)), "points"
            )
            figures[f"{prefix}{key}_nll"] = over_sources(
                evidence, preset, f"NLL gained, {says}", lambda run, worst=worst: _rise(worst(run)), "nats"
            )
            if found := worst(first):
                figures[f"{prefix}{key}_drop_events"] = _over_examples(
                    f"accuracy lost, {says}{named}, first source, interval over examples", found
                )
        fits = next(iter(evidence.values())).of(preset)
        if len(fits) > 1:
            selected = [run.model.channels.open.numpy() for run in fits]
            same, chance = channel_agreement(selected, first.model.channels.possible.numpy())
            figures[f"{prefix}edge_agreement"] = Estimate.over_runs(
                f"channels shared by two refits (Jaccard){named}", same
            )
            figures[f"{prefix}edge_chance"] = Estimate.over_runs(f"the same by chance{named}", chance)
    return figures


def channel_agreement(
    selected: list[np.ndarray], possible: np.ndarray, *, draws: int = 2000
) -> tuple[list[float], list[float]]:
    """For each pair of refits the Jaccard index of their channels, and its mean for channels drawn at random."""
    rng = np.random.default_rng(0)
    same, chance = [], []
    for one, other in itertools.combinations([np.asarray(graph)[possible] for graph in selected], 2):
        same.append(jaccard(one, other))
        chance.append(
            float(np.mean([jaccard(rng.permutation(one), rng.permutation(other)) for _ in range(draws)]))
        )
    return same, chance


def jaccard(one: np.ndarray, other: np.ndarray) -> float:
    """How much of what two masks hold is held by both; 1 if they hold nothing."""
    joined = (one | other).sum()
    return float((one & other).sum() / joined) if joined else 1.0


def _drop(found: Effect | None) -> float:
    return found.accuracy_drop if found else float("nan")


def _rise(found: Effect | None) -> float:
    return found.nll_rise if found else float("nan")


def _over_examples(says: str, found: Effect) -> Estimate:
    low, high = found.drop_interval
    value = found.accuracy_drop
    return Estimate(says, "points", (value,), 0, value, low, high, (low, high))


CLAIM = recovered_claim(
    name="message-interventions",
    says="deleting or replacing messages degrades the Q-model",
    presets={
        "quick": MessageInterventions(models=QUICK_MODELS),
        "full": MessageInterventions(),
        "paper": MessageInterventions(models=PAPER_MODELS),
    },
    measure=measure,
)
