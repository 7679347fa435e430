"""A quantum is a computation that its events share, so teaching some of them must teach the others. A new claim.

A set of events is cut at random into halves A and B, no input on both sides. The network is trained again from
the same start with A's weight raised (or lowered), and B is compared with events outside the set: those that share
the most of output word, length and position, those of the same word alone, those of the same word and a like loss
curve, and the events of other sets. Any method that proposes sets can be scored so, without a known answer.

The claim is calibrated where the answer is known: on parities, half of a unit's events must move the other half,
and half of a random set must move nothing. Two nulls stand beside the factors of every source: random sets with
the same output words, and sets whose events have the same words and like loss curves.

Two predictions stand beside the retrained truth: T ∝ κ/p says, with nothing fitted, by how much B is acquired
earlier; and the first-order estimate along the checkpoints says what each event gains.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from quantascope.claims.claim import Claim, no_summary
from quantascope.claims.result import Estimate
from quantascope.claims.transfer_runs import (
    ParityTrials,
    SourceTrials,
    Tried,
    check_trials,
    cost_of,
    steps_of,
    tried,
)
from quantascope.discovery.transfer import Response, diagonality
from quantascope.models import TransformerConfig
from quantascope.runs.config import Config, Positive, PositiveFloat, Seeds
from quantascope.sources.parity_rows import ParityRowsConfig
from quantascope.sources.trained import SourceConfig
from quantascope.tasks.hsp import ComposedFamily, Family, FlatFamily, LevelRatio, RegularFamily
from quantascope.training import OptimizerConfig, TrainingConfig

METHODS = (
    "factors", "corrective", "fingerprints", "spectral", "kmeans", "kernel", "kernel_within_words", "nmf",
    "loss_curves", "words", "program", "random", "alike",
)  # fmt: skip
NULLS = (
    ("random", "word_transfer", "controls of the same word"),
    ("alike", "curve_transfer", "controls of the same word and like curve"),
)
"""The gain beyond each null is that beyond the controls that the null keeps."""
NAMING = SourceConfig(steps=1500, intervals=50, replays=0)
ADDITION = SourceConfig(
    task="addition",
    steps=2000,
    intervals=50,
    replays=0,
    optimizer=OptimizerConfig(name="sgd", learning_rate=0.1),
)
"""At the rate of number naming, development seed 100 leaves its plateau only after thousands of steps."""
INFLECTION = ADDITION.replace({"task": "inflection", "trained_on": "training_300", "steps": 1500})
"""Real words, at the rate of addition."""
PARITY = TrainingConfig(steps=2000, evaluate_every=40, optimizer=OptimizerConfig(name="sgd", learning_rate=0.3))
"""Chosen on development seed 100: every task is learned, the first after a twentieth of the steps."""


class SupportTransfer(Config):
    """Sources by task and seed, and forests whose units are known."""

    sources: tuple[SourceConfig, ...] = (NAMING, ADDITION, INFLECTION)
    seeds: Seeds = (0, 1, 2)
    methods: tuple[str, ...] = METHODS
    sets: Positive = 3
    splits: Positive = 2
    threshold: PositiveFloat = 0.03
    rows: Positive = 2048
    parity: TrainingConfig = PARITY
    parity_seeds: Seeds = (0, 1, 2)
    parity_sets: Positive = 4


KNOWN_UNITS = {
    "flat": ("units", "random"),
    "two_levels": ("units", "shared", "random"),
    "composed": ("units", "shared", "random"),
}
"""The forests, and the kinds of sets that are tried on each."""


def forests(seed: int) -> dict[str, Family]:
    """Known units: alone, in two levels, and shared by several tasks."""
    return {
        "flat": FlatFamily(tasks=8, pool=12, distractors=0, exponent=0.5, support_seed=seed, rank_seed=seed),
        "two_levels": RegularFamily(
            roots=4, branching=1, depth=1, pool=16, demand=LevelRatio(ratio=1.0), support_seed=seed
        ),
        "composed": ComposedFamily(
            tasks=8, shared=2, pool=8, distractors=0, exponent=0.0, support_seed=seed, rank_seed=seed
        ),
    }


def runs(config: SupportTransfer) -> dict[str, SourceTrials | ParityTrials]:
    """One job for each source, those with known units first; every figure has one value for each seed."""
    jobs: dict[str, SourceTrials | ParityTrials] = {}
    for seed in config.parity_seeds:
        for name, family in forests(seed).items():
            rows = ParityRowsConfig(family=family, rows=config.rows, training=config.parity, seed=seed)
            jobs[f"{name}-{seed}"] = ParityTrials(source=rows, sets=config.parity_sets)
    for source in config.sources:
        for seed in config.seeds:
            jobs[f"{source.task}-{seed}"] = SourceTrials(
                source=source.model_copy(update={"seed": seed}),
                methods=config.methods,
                sets=config.sets,
                splits=config.splits,
                threshold=config.threshold,
            )
    return jobs


def by_kind(evidence: Mapping[str, Tried]) -> dict[str, list[Tried]]:
    """The sources of each task or forest."""
    found: dict[str, list[Tried]] = {}
    for label, one in evidence.items():
        found.setdefault(label.rpartition("-")[0].replace("-", "_"), []).append(one)
    return found


def kinds_of(config: SupportTransfer) -> dict[str, tuple[str, ...]]:
    """The methods tried on each forest and task, in the order of the runs."""
    tasks = {source.task.replace("-", "_"): config.methods for source in config.sources}
    return KNOWN_UNITS | tasks


def measure(config: SupportTransfer, evidence: Mapping[str, Tried]) -> dict[str, Estimate]:
    """Transfer by kind of source and method, its controls, and how well it is predicted."""
    figures: dict[str, Estimate] = {}
    for kind, methods in kinds_of(config).items():
        sources = by_kind(evidence)[kind]
        for method in methods:
            figures |= _of_method(kind, method, sources)
        figures |= _of_source(kind, sources)
    return figures


def _of_method(kind: str, method: str, sources: Sequence[Tried]) -> dict[str, Estimate]:
    """What raising half of a method's sets does; of the factors, other changes too."""
    figures: dict[str, Estimate] = {}

    def over(key: str, says: str, value: Callable[[list[Response]], float], change: str = "raised") -> None:
        values = [value(own) if (own := one.transfer.of(method, change)) else np.nan for one in sources]  # pyright: ignore[reportArgumentType]
        figures[f"{key}_{kind}_{method}"] = Estimate.over_runs(f"{says}, {_words(kind, method)}", values)

    over("transfer", "gain of the other half beyond controls (nats)", lambda own: _mean(own, "transfer"))
    over("word_transfer", "the same, controls of the same word", lambda own: _mean(own, "word_transfer"))
    over("exact_transfer", "of the same length and position too", lambda own: _mean(own, "exact_transfer"))
    over("curve_transfer", "of the same word and like loss curve", lambda own: _mean(own, "curve_transfer"))
    over(
        "imbalance",
        "fall of the loss beyond controls of the same word (nats)",
        lambda own: _mean(own, "imbalance"),
    )
    over(
        "curve_imbalance", "and beyond those of like loss curve (nats)", lambda own: _mean(own, "curve_imbalance")
    )
    over("passed_on", "that gain over the gain of the taught half", _passed_on)
    over("shift", "log shift of the other half's acquisition", lambda own: _mean(own, "shift"))
    over("control_shift", "log shift of its controls", lambda own: _mean(own, "control_shift"))
    over("estimated_transfer", "the same gain, first-order estimate", lambda own: _mean(own, "estimated_transfer"))
    over("predicted_shift", "log shift predicted by demand", lambda own: _mean(own, "predicted"))
    over("predicted_control_shift", "that of its controls", lambda own: _mean(own, "predicted_control"))
    over("shift_known", "sets whose loss falls halfway", _shift_known)
    over(
        "exact",
        "asked events with controls of the same word, length and position",
        lambda own: _mean(own, "exact"),
    )
    over("same_word", "asked events with controls of the same word", lambda own: _mean(own, "same_word"))
    over("alike", "asked events with controls of the same word and like curve", lambda own: _mean(own, "alike"))
    for change in ("lowered", "outside"):
        if method == "factors":
            over(
                f"transfer_{change}", f"gain beyond controls, {change}", lambda own: _mean(own, "transfer"), change
            )
            over(f"shift_{change}", f"log shift, {change}", lambda own: _mean(own, "shift"), change)
    for null, what, words in NULLS:
        if method not in ("random", "alike"):
            beyond = [_beyond(one, method, null, what) for one in sources]
            figures[f"beyond_{null}_{kind}_{method}"] = Estimate.over_runs(
                f"gain beyond {words} and beyond {null} sets (nats), {_words(kind, method)}", beyond
            )
    diagonal = [
        diagonality(one.transfer.matrix(method)) if one.transfer.of(method) else (np.nan,) * 2 for one in sources
    ]
    says = ("diagonal of the response matrix beyond its rows (nats)", "sets that respond most to themselves")
    for key, words, place in zip(("diagonality", "diagonal_first"), says, (0, 1), strict=True):
        values = [one[place] for one in diagonal]
        figures[f"{key}_{kind}_{method}"] = Estimate.over_runs(f"{words}, {_words(kind, method)}", values)
    return figures


def _of_source(kind: str, sources: Sequence[Tried]) -> dict[str, Estimate]:
    """How well two predictions agree with what was measured, over all sets of a source."""
    pairs: dict[str, tuple[str, Callable[[Response], tuple[float, float]]]] = {
        "theory_correlation": ("demand and measured shift", lambda one: (one.predicted, one.shift)),
        "theory_control_correlation": (
            "the same prediction and the shift of controls", lambda one: (one.predicted, one.control_shift),
        ),
        "estimate_correlation": (
            "first-order and retrained transfer", lambda one: (one.estimated_transfer, one.transfer),
        ),
        "estimate_effect_correlation": (
            "first-order and retrained gain of the other half", lambda one: (one.estimated, one.asked),
        ),
    }  # fmt: skip
    figures = {
        f"{key}_{kind}": Estimate.over_runs(
            f"correlation over sets of {says}, {_words(kind)}",
            [correlation([pair(one) for one in source.transfer.responses]) for source in sources],
        )
        for key, (says, pair) in pairs.items()
    }
    shifts = [np.array([(one.predicted, one.shift) for one in source.transfer.responses]) for source in sources]
    for key, words, share in (("theory_error", "as demand predicts it", 1.0), ("no_shift_error", "of none", 0.0)):
        errors = [float(np.nanmean(np.abs(share * own[:, 0] - own[:, 1]))) for own in shifts]
        figures[f"{key}_{kind}"] = Estimate.over_runs(
            f"mean error of the log shift of the other half {words}, {_words(kind)}", errors
        )
    for null in ("random", "alike"):
        if null in sources[0].methods and "factors" in sources[0].methods:
            figures[f"shared_{kind}_{null}"] = Estimate.over_runs(
                f"events of a factor that its {null} set has too, {_words(kind)}",
                [_shared(source, null) for source in sources],
            )
    figures[f"estimate_event_correlation_{kind}"] = Estimate.over_runs(
        f"correlation over events of first-order and retrained gain, {_words(kind)}",
        [_mean(source.transfer.responses, "estimate_correlation") for source in sources],
    )
    if any(np.isfinite(source.child_to_parent) for source in sources):
        figures[f"child_to_parent_{kind}"] = Estimate.over_runs(
            "gain of a parent's task when half of its child's events are raised, beyond other roots (nats)",
            [source.child_to_parent for source in sources],
        )
    return figures


def correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Pearson correlation of the pairs that are both known; NaN for fewer than three, or if a side is constant."""
    known = np.array([pair for pair in pairs if np.isfinite(pair).all()]).reshape(-1, 2)
    if len(known) < 3 or not known.std(0).all():
        return np.nan
    return float(np.corrcoef(known.T)[0, 1])


def _mean(responses: Sequence[Response], what: str) -> float:
    values = np.array([getattr(one, what) for one in responses])
    return float(np.nanmean(values)) if np.isfinite(values).any() else np.nan


def _shift_known(responses: Sequence[Response]) -> float:
    return float(np.mean([np.isfinite(one.shift) for one in responses]))


def _passed_on(responses: Sequence[Response]) -> float:
    taught = np.mean([one.taught - one.control for one in responses])
    return float(np.mean([one.transfer for one in responses]) / taught)


def _beyond(source: Tried, method: str, null: str, what: str) -> float:
    own, nulls = (source.transfer.of(name) for name in (method, null))
    return _mean(own, what) - _mean(nulls, what) if own and nulls else np.nan


def _shared(source: Tried, null: str) -> float:
    """The mean share of a factor's events that are in the null's set in its place."""
    own, drawn = (
        {trial.number: trial.cut.members for trial in source.transfer.trials if trial.method == method}
        for method in ("factors", null)
    )
    return float(np.mean([(own[number] & drawn[number]).sum() / own[number].sum() for number in own]))


def _words(*keys: str) -> str:
    return ", ".join(key.replace("_", " ") for key in keys)


QUICK = SourceConfig(
    model=TransformerConfig(blocks=2, width=8, hidden=16),
    steps=40,
    optimizer=OptimizerConfig(name="sgd", learning_rate=0.1),
    intervals=8,
    replays=0,
)
CLAIM = Claim(
    name="support-transfer",
    says="teaching half of a quantum's events teaches the other half",
    presets={
        "quick": SupportTransfer(
            sources=(QUICK,),
            seeds=(0,),
            methods=("factors", "words", "random", "alike"),
            sets=2,
            splits=1,
            threshold=0.02,
            rows=256,
            parity=PARITY.model_copy(update={"steps": 60, "evaluate_every": 10}),
            parity_seeds=(0,),
            parity_sets=1,
        ),
        "full": SupportTransfer(),
        "paper": SupportTransfer(),
    },
    runs=runs,
    prepare=check_trials,
    work=tried,
    steps=steps_of,
    measure=measure,
    summary=no_summary,
    cost=cost_of,
)
