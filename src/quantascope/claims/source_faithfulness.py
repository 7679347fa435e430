"""Does the source use what the Q-model's writers write? The paper leaves it open.

For each writer w of layer ℓ, with unit direction v and activity α at each token:

    Q-model   silence w everywhere: the change of each event's NLL is the prediction
    source    subtract from block ℓ's update, at the tokens where w writes, either the message α v ("message"), or
              the component of the update along v ("component"), and run the later blocks
    controls  the same message along a random direction; and the message at randomly drawn tokens instead

Prediction and effect are compared over the events at which w writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy import stats
from torch import Tensor

from quantascope.claims.claim import Claim
from quantascope.claims.recover_quanta import SOURCES
from quantascope.claims.recovered_models import (
    FULL_MODELS,
    PAPER_MODELS,
    QUICK_MODELS,
    FittedSource,
    RecoveredModels,
    fitted_source,
    over_sources,
    runs,
    total_updates,
)
from quantascope.claims.recovered_qmodel import RECIPE_NAMES
from quantascope.claims.result import Estimate
from quantascope.models import Transformer
from quantascope.qmodel.recovered.fidelity import panel_events
from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.qmodel.recovered.interventions import ablate_writer, effects
from quantascope.qmodel.recovered.model import RecoveredQModel
from quantascope.runs.config import Config, Positive
from quantascope.tasks.events import Events

PANEL = "causal"
KINDS = ("message", "component", "random_direction", "random_events")
LEAST_EVENTS = 20
"""A writer that writes at fewer events tells nothing by itself."""


class SourceFaithfulness(Config):
    """The Q-models that are compared with their sources, on every so many numbers of the causal panel."""

    models: RecoveredModels = FULL_MODELS
    every: Positive = 2


@dataclass(frozen=True, eq=False)
class Comparison:
    """For each writer and event at which it writes, the predicted change of NLL and those in the source."""

    writer: Int[np.ndarray, " pairs"]
    predicted: Float[np.ndarray, " pairs"]
    found: Mapping[str, Float[np.ndarray, " pairs"]]

    def correlation(self, kind: str) -> float:
        """Pearson correlation over all pairs."""
        return _correlation(self.predicted, self.found[kind])

    def rank_correlation(self, kind: str) -> float:
        """Spearman correlation over all pairs."""
        return _correlation(stats.rankdata(self.predicted), stats.rankdata(self.found[kind]))

    def within_writers(self, kind: str) -> float:
        """Mean over writers of the correlation over their own events."""
        each = [
            _correlation(self.predicted[own], self.found[kind][own])
            for own in (self.writer == writer for writer in np.unique(self.writer))
            if own.sum() >= LEAST_EVENTS
        ]
        each = [one for one in each if np.isfinite(one)]
        return float(np.mean(each)) if each else float("nan")

    def mean_effect(self, kind: str) -> float:
        """Mean change of NLL in the source."""
        return float(self.found[kind].mean()) if len(self.predicted) else float("nan")


def _correlation(one: Float[np.ndarray, " pairs"], other: Float[np.ndarray, " pairs"]) -> float:
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


@torch.no_grad()
def compare(model: RecoveredQModel, source: Transformer, events: Events, *, seed: int = 0) -> Comparison:
    """Silence every writer in the Q-model and take away what it wrote in the source."""
    ours, theirs = model.run(events), source.run(events)
    stream = torch.stack([theirs.stream, *theirs.updates]).cumsum(0)
    before = _nll(theirs.logits, events)
    generator = torch.Generator().manual_seed(seed)
    pairs = [(quantum, writer) for quantum in range(len(model.layers)) for writer in range(model.config.writers)]
    silenced = effects(model, events, (ablate_writer(model, quantum, writer) for quantum, writer in pairs))
    writers, predicted = [], []
    found: dict[str, list[np.ndarray]] = {kind: [] for kind in KINDS}
    for place, ((quantum, writer), prediction) in enumerate(zip(pairs, silenced, strict=True)):
        wrote, layer = ours.activity[quantum, :, writer], model.layers[quantum]
        at = (wrote[events.event_rows] > 0).nonzero().squeeze(1)
        if not len(at):
            continue
        direction = model.directions[quantum, writer]
        other = torch.nn.functional.normalize(torch.randn(direction.shape, generator=generator), dim=0)
        along = (theirs.updates[layer] @ direction) * (wrote > 0)
        elsewhere = wrote[torch.randperm(len(wrote), generator=generator)]
        taken = {
            "message": wrote[:, None] * direction,
            "component": along[:, None] * direction,
            "random_direction": wrote[:, None] * other,
            "random_events": elsewhere[:, None] * direction,
        }
        for kind, message in taken.items():
            logits = source.resume(stream[layer + 1] - message, events, block=layer + 1)
            found[kind].append((_nll(logits, events) - before)[at].numpy())
        predicted.append(prediction.nll[at].numpy())
        writers.append(np.full(len(at), place))
    return Comparison(
        _joined(writers).astype(np.int64), _joined(predicted), {kind: _joined(one) for kind, one in found.items()}
    )


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)


def _nll(logits: Tensor, events: Events) -> Tensor:
    return torch.nn.functional.cross_entropy(logits, events.target, reduction="none")


@lru_cache(maxsize=64)
def compared(run: RecoveredRun, every: int) -> Comparison:
    """The comparison of a Q-model with its source, measured once."""
    return compare(run.model, run.source.model(), panel_events(run.source.config, PANEL, every=every))


def measure(config: SourceFaithfulness, evidence: Mapping[str, FittedSource]) -> dict[str, Estimate]:
    """Correlations of predicted and found effects, and mean effects, over sources."""
    figures: dict[str, Estimate] = {}
    for recipe, prefix in RECIPE_NAMES:
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
                figures[f"{prefix}{key}_{kind}"] = over_sources(evidence, recipe, f"{says}, {words}", value, unit)
        figures[f"{prefix}predicted_effect"] = over_sources(
            evidence,
            recipe,
            "mean change of the Q-model's NLL",
            lambda run: float(compared(run, config.every).predicted.mean()),
            "nats",
        )
    return figures


CLAIM = Claim(
    name="source-faithfulness",
    says="what writers write matters to the source as the Q-model predicts",
    presets={
        "quick": SourceFaithfulness(models=QUICK_MODELS, every=16),
        "full": SourceFaithfulness(),
        "paper": SourceFaithfulness(models=PAPER_MODELS),
    },
    runs=lambda config: runs(config.models),
    prepare=lambda job: [fit.training for fit in job.fits],
    work=fitted_source,
    steps=total_updates,
    measure=measure,
    shares=SOURCES,
)
