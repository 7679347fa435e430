"""Can a Q-model be trusted? Every aim that was set for one, on each of several sources.

Each source has several Q-models of one preset, which differ in their fit seed alone. A figure of a source is the
mean over its Q-models, except that channels are compared between each two of them.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from statistics import fmean

import numpy as np
from jaxtyping import Bool

from quantascope.claims.claim import no_summary
from quantascope.claims.message_interventions import jaccard
from quantascope.claims.real_study import finite_mean
from quantascope.claims.recover_quanta import QUICK
from quantascope.claims.recovered_models import SHORT, FittedSource, QModelFits, recovered_claim
from quantascope.claims.recovered_qmodel import seen, time_after_burst
from quantascope.claims.result import Estimate
from quantascope.claims.source_faithfulness import PANEL, compared
from quantascope.qmodel.recovered.config import FIT_PRESETS, RecoveredFit
from quantascope.qmodel.recovered.fidelity import every_event, gate_fidelity, parameter_share, through_time
from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.qmodel.recovered.source_effects import Comparison, compare, compare_quanta
from quantascope.runs.config import Config, Positive, Seeds
from quantascope.sources.trained import SourceConfig


class TrustedQModel(Config):
    """Sources by seed, and the fits to each; interventions are on every so many inputs of the causal panel."""

    source: SourceConfig = SourceConfig()
    seeds: Seeds = (0, 1, 2, 3, 4, 5, 6, 7)
    refit_seeds: tuple[int, ...] = (0, 1)
    fit: RecoveredFit = FIT_PRESETS["trusted"]
    every: Positive = 2


def runs(config: TrustedQModel) -> dict[str, QModelFits]:
    """The fits to each source."""
    jobs = {}
    for seed in config.seeds:
        source = config.source.model_copy(update={"seed": seed})
        fits = tuple(
            config.fit.model_copy(update={"source": source.hash(), "seed": refit}) for refit in config.refit_seeds
        )
        jobs[f"trusted-{seed}"] = QModelFits(source=source, fits=fits)
    return jobs


def measure(config: TrustedQModel, evidence: Mapping[str, FittedSource]) -> dict[str, Estimate]:
    """Each figure over sources."""
    figures = {
        key: Estimate.over_runs(
            says, [fmean(value(run, config.every) for run in fitted.runs) for fitted in evidence.values()], unit
        )
        for key, (says, value, unit) in FIGURES.items()
    }
    channels = [_recurring_channels(fitted) for fitted in evidence.values()]
    for key, says, place in (
        ("edge_agreement", "channels shared by two refits (Jaccard)", 0),
        ("edge_chance", "the same for senders drawn at random", 1),
        ("edge_as_alike", "share of draws at random that are as alike", 2),
    ):
        figures[key] = Estimate.over_runs(says, [one[place] for one in channels])
    return figures


def _recurring_channels(fitted: FittedSource) -> tuple[float, float, float]:
    """`recurring_senders` of the refits of a source."""
    channels = [run.model.channels for run in fitted.runs]
    possible = channels[0].possible.cpu().numpy()
    return recurring_senders([one.open.any(0).cpu().numpy() for one in channels], possible)


def recurring_senders(
    kept: Sequence[Bool[np.ndarray, " quanta"]], possible: Bool[np.ndarray, "quanta quanta"], draws: int = 2000
) -> tuple[float, float, float]:
    """How alike the channels of refits are that keep or drop whole senders, mean over pairs of refits.

    The Jaccard index of the channels, its mean if as many senders are drawn at random, and the share of draws that
    are at least as alike. Where nearly all senders stay, any two refits are alike.

    >>> possible = np.array([[False, False, False], [True, False, False], [True, True, False]])
    >>> all_stay = np.array([True, True, False])
    >>> recurring_senders([all_stay, all_stay], possible)
    (1.0, 1.0, 1.0)
    """
    rng, senders = np.random.default_rng(0), possible.any(0)

    def drawn(own: Bool[np.ndarray, " quanta"]) -> Bool[np.ndarray, " quanta"]:
        mask = own.copy()
        mask[senders] = rng.permutation(own[senders])
        return mask

    rows = []
    for one, other in itertools.combinations(kept, 2):
        same = jaccard(possible & one, possible & other)
        random = np.array([jaccard(possible & drawn(one), possible & drawn(other)) for _ in range(draws)])
        rows.append((same, random.mean(), (random >= same).mean()))
    same, chance, as_alike = np.mean(rows, 0) if rows else (math.nan,) * 3
    return float(same), float(chance), float(as_alike)


@lru_cache(maxsize=64)
def quanta_compared(run: RecoveredRun, every: int) -> Comparison:
    """The comparison of a Q-model's quanta with its source, measured once."""
    return compare_quanta(run.model, run.source.model(), every_event(run.source, PANEL, every))


@lru_cache(maxsize=64)
def unfitted_compared(run: RecoveredRun, every: int) -> tuple[Comparison, Comparison]:
    """Of the Q-model before its fit: the comparisons of its quanta and of its writers with the source."""
    model, source, events = run.unfitted(), run.source.model(), every_event(run.source, PANEL, every)
    return compare_quanta(model, source, events), compare(model, source, events)


def decided_lowest(run: RecoveredRun) -> float:
    """The lowest agreement of any replayed checkpoint on events where the source is decided, in percent."""
    return 100 * min(_known(through_time(run)["decided"].to_list()), default=math.nan)


def decided_after_burst(run: RecoveredRun) -> list[float]:
    """That agreement at each checkpoint after the first burst, in percent, where any event is decided."""
    return _known(time_after_burst(run, "decided"))


def _known(values: Iterable[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]


FIGURES: dict[str, tuple[str, Callable[[RecoveredRun, int], float], str]] = {
    "agreement": ("agreement, test panel", lambda run, _: 100 * seen(run, "test").agreement, "%"),
    "agreement_right": (
        "agreement where the source is right, test panel",
        lambda run, _: 100 * seen(run, "test").agreement_where_right,
        "%",
    ),
    "agreement_wrong": (
        "agreement where the source is wrong, test panel",
        lambda run, _: 100 * seen(run, "test").agreement_where_wrong,
        "%",
    ),
    "decided_lowest": (
        "lowest agreement of a checkpoint where the source is decided",
        lambda run, _: decided_lowest(run),
        "%",
    ),
    "decided_lowest_after_burst": (
        "the same after the first burst",
        lambda run, _: min(decided_after_burst(run), default=math.nan),
        "%",
    ),
    "decided_mean": (
        "mean agreement of checkpoints after the first burst where the source is decided",
        lambda run, _: finite_mean(decided_after_burst(run)),
        "%",
    ),
    "parameter_share": (
        "parameters over those of the source",
        lambda run, _: 100 * parameter_share(run),
        "%",
    ),
    "active_writers": ("active writers per event, test panel", lambda r, _: seen(r, "test").active_writers, ""),
    "active_quanta": ("active quanta per event, test panel", lambda run, _: seen(run, "test").active_quanta, ""),
    "channels": ("selected channels", lambda run, _: float(len(run.model.channels.edges)), "channels"),
    "gate_f1": ("F1 of gates with held-out supports", lambda run, _: gate_fidelity(run), ""),
    "correlation_quanta": (
        "correlation of effects of ablated quanta, Q-model and source",
        lambda run, every: quanta_compared(run, every).correlation("message"),
        "",
    ),
    "correlation_quanta_random": (
        "the same, messages along random directions",
        lambda run, every: quanta_compared(run, every).correlation("random_direction"),
        "",
    ),
    "correlation_quanta_unfitted": (
        "the same of a Q-model before its fit",
        lambda run, every: unfitted_compared(run, every)[0].correlation("message"),
        "",
    ),
    "correlation_writers": (
        "correlation of effects of silenced writers, Q-model and source",
        lambda run, every: compared(run, every).correlation("message"),
        "",
    ),
    "correlation_writers_random": (
        "the same, messages along random directions",
        lambda run, every: compared(run, every).correlation("random_direction"),
        "",
    ),
    "correlation_writers_unfitted": (
        "the same of a Q-model before its fit",
        lambda run, every: unfitted_compared(run, every)[1].correlation("message"),
        "",
    ),
    "within_writers": (
        "mean correlation over a writer's own events",
        lambda run, every: compared(run, every).within_writers("message"),
        "",
    ),
    "within_writers_unfitted": (
        "the same of a Q-model before its fit",
        lambda run, every: unfitted_compared(run, every)[1].within_writers("message"),
        "",
    ),
    "correlation_component": (
        "correlation if the source loses its own component along the writer",
        lambda run, every: compared(run, every).correlation("component"),
        "",
    ),
    "correlation_component_unfitted": (
        "the same of a Q-model before its fit",
        lambda run, every: unfitted_compared(run, every)[1].correlation("component"),
        "",
    ),
}

AIMS = {
    "agreement": 95.0,
    "agreement_right": 98.0,
    "decided_lowest": 90.0,
    "parameter_share": 50.0,
    "active_writers": 8.0,
    "edge_agreement": 0.6,
    "correlation_quanta": 0.8,
    "correlation_writers": 0.8,
}
"""At least so much, but at most so many parameters and writers; set before any evaluation source was seen."""

CLAIM = recovered_claim(
    name="trusted-qmodel",
    says="a Q-model that can be trusted: what it says, through training and under interventions",
    presets={
        "quick": TrustedQModel(
            source=QUICK,
            seeds=(0,),
            fit=FIT_PRESETS["trusted"].replace({**SHORT, "pool.numbers": 60, "pool.inputs": 30}),
            every=16,
        ),
        "full": TrustedQModel(),
        "paper": TrustedQModel(),
    },
    jobs=runs,
    measure=measure,
    summary=no_summary,
)
