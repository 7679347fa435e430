"""The quanta of a source on real data: its field, their number and order, and whether rules come first."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Int

from quantascope.claims.real_study import Number, Numbers, Study, context_groups, context_key, finite_mean
from quantascope.claims.rules_first import exceptions_late, half_time, matched_loss
from quantascope.discovery import Factors, factorize, match, ordering
from quantascope.discovery.discover import Discovery
from quantascope.discovery.measure import measure_field
from quantascope.discovery.nulls.beside import (
    SurrogateKind,
    explained_by_nmf,
    explained_by_svd,
    explained_in_training,
    packets,
    surrogates,
)
from quantascope.discovery.nulls.packets import context_packets
from quantascope.runs.config import fingerprint
from quantascope.semantics.tables import property_table
from quantascope.sources.source import Source


def field_numbers(found: Discovery, study: Study) -> Numbers:
    """Completeness by both rules at each number of intervals, and similarity of the factors to the finest ones."""
    numbers: Numbers = {}
    for count in study.spacings:
        coarse = _coarser(found, count)
        fields = {"path": found.trained if coarse is found.source else measure_field(coarse, "path")}
        if coarse.trajectory.mass is not None:
            fields["gradient"] = measure_field(coarse, "gradient")
        for rule, field in fields.items():
            by = f"{rule} rule, {count} intervals"
            numbers[f"completeness_{rule}_{count}"] = Number(f"ΣP/ΔL, {by}", field.completeness)
            numbers[f"event_correlation_{rule}_{count}"] = Number(
                f"correlation of credit and loss change by event, {by}", field.event_correlation
            )
        factors = factorize(fields["path"].values, threshold=found.threshold)
        numbers[f"factors_{count}"] = Number(f"factors of {count} intervals", len(factors), "factors")
        alike = match(found.factors, factors).mcc.mean() if len(factors) else math.nan
        numbers[f"match_{count}"] = Number(
            f"mean MCC of supports from {count} intervals with the finest", float(alike)
        )
    return numbers


def _coarser(found: Discovery, intervals: int) -> Source:
    """The source with fewer intervals, whose fields are kept beside its own."""
    source, steps = found.source, found.source.steps
    if len(steps) - 1 == intervals:
        return source
    chosen = [steps[round(place)] for place in np.linspace(0, len(steps) - 1, intervals + 1)]
    identity = fingerprint({"source": source.identity, "intervals": intervals})
    folder = source.folder / "spacings" / str(intervals)
    return replace(source, trajectory=source.trajectory.at(chosen), folder=folder, identity=identity)


def factor_numbers(found: Discovery, study: Study) -> Numbers:
    """Number of quanta, their acquisition, and what they explain, compared with baselines."""
    steps, last = found.acquired, found.trained.steps[-1]
    shares = {
        "explained_training": ("training priority explained", explained_in_training(found)),
        "explained": ("held-out priority explained", found.explained),
        "explained_svd": ("held-out priority explained by a signed SVD", explained_by_svd(found)),
        "explained_nmf": ("held-out priority explained by an NMF", explained_by_nmf(found)),
        "negative_mass": ("negative held-out priority", found.negative),
    }
    numbers = {
        "factors": Number("quanta", len(found.factors), "factors"),
        "demand": Number("median demand of the quanta", 100 * float(np.median(found.factors.demand)), "%"),
        **{
            f"acquired_{key}": Number(f"{key} quantum acquired, share of training", 100 * float(step) / last, "%")
            for key, step in (("first", steps.min()), ("median", np.median(steps)), ("last", steps.max()))
        },
        "acquired_intervals": Number("intervals in which a quantum was acquired", len(set(steps)), "intervals"),
        **{
            key: Number(f"{says}, mean of layers", 100 * float(np.mean(one)), "%")
            for key, (says, one) in shares.items()
        },
        "improvement": Number("mean curve and held-out improvement", found.improvement_correlation),
        "improvement_random": Number(
            "mean curve of random sets of equal size and held-out improvement",
            finite_mean([found.improvement_correlation_of(one) for one in packets(found, "sets", study.draws)]),
        ),
    }  # fmt: skip
    kinds: tuple[tuple[SurrogateKind, str], ...] = (
        ("loadings", "continuous loadings"),
        ("gaussian", "Gaussian fields"),
    )
    for kind, what in kinds:
        drawn = [factorize(values, threshold=found.threshold) for values in surrogates(found, kind, study.draws)]
        shares = [np.bincount(one.layer, one.explained).sum() / len(found.trained.layers) for one in drawn]
        numbers[f"factors_{kind}"] = Number(
            f"factors of {what}", finite_mean([len(one) for one in drawn]), "factors"
        )
        numbers[f"explained_training_{kind}"] = Number(
            f"priority explained of {what}", 100 * finite_mean(shares), "%"
        )
    return numbers


def order_numbers(found: Discovery, study: Study) -> Numbers:
    """How acquisition time depends on demand and complexity, for the factors and for several nulls."""
    kinds: dict[str, tuple[str, Sequence[Factors]]] = {
        "": ("", [found.factors]),
        "_random": (" of random sets of equal size", packets(found, "sets", study.draws)),
        "_loadings": (" of factors of continuous loadings", _of_loadings(found, study.draws)),
    }
    for columns in study.contexts:
        groups = context_groups(found.source.events(), columns)
        kinds[f"_within_{context_key(columns)}"] = (
            f" of events drawn within {' and '.join(columns)}",
            _within(found, groups, study.draws),
        )
    numbers: Numbers = {}
    for suffix, (what, drawn) in kinds.items():
        orders = [
            ordering(one, complexity) for one in drawn if (complexity := found.complexity_of(one)) is not None
        ]
        for name, says in _ORDERS.items():
            numbers[name + suffix] = Number(f"{says}{what}", finite_mean([getattr(one, name) for one in orders]))
    return numbers


_ORDERS = {
    "time_demand": "time and demand",
    "time_complexity": "time and complexity",
    "time_demand_over_complexity": "time and demand over complexity",
}


def rule_numbers(found: Discovery, study: Study) -> Numbers:
    """Whether events that follow a rule are learned before exceptions."""
    table = property_table(found.source, "training")
    rule, exception = table.atom(study.rule), table.atom(study.exception)
    losses, steps = found.trained.losses, found.trained.steps
    groups = context_groups(found.source.events(), study.contexts[1])
    own, alike, kept = matched_loss(losses, exception, rule, groups)
    times = {
        "rules_half": ("rule", half_time(losses[rule].mean(0, dtype=np.float64), steps)),
        "exceptions_half": ("exception", half_time(losses[exception].mean(0, dtype=np.float64), steps)),
        "matched_exceptions_half": ("exceptions that have rules of like context", half_time(own, steps)),
        "matched_rules_half": ("those rules of like context", half_time(alike, steps)),
    }
    names = {"rule": study.rule, "exception": study.exception}
    numbers = {
        key: Number(f"half of the fall of the loss: {names.get(what, what)}, share of training", 100 * time, "%")
        for key, (what, time) in times.items()
    }
    numbers["exceptions_later"] = Number(
        "exceptions after rules, share of training",
        100 * (times["exceptions_half"][1] - times["rules_half"][1]),
        "%",
    )
    numbers["matched_exceptions_later"] = Number(
        "exceptions after rules of like context, share of training",
        100 * (times["matched_exceptions_half"][1] - times["matched_rules_half"][1]),
        "%",
    )
    numbers["exceptions_matched"] = Number("exceptions that have rules of like context", 100 * kept, "%")
    numbers["exceptions_late"] = Number(
        "time of quanta and their share of exceptions", exceptions_late(found.factors, exception)
    )
    nulls = {
        "random": ("random sets", packets(found, "sets", study.draws)),
        "loadings": ("factors of continuous loadings", _of_loadings(found, study.draws)),
        "within": (
            f"events drawn within {' and '.join(study.contexts[0])}",
            _within(found, context_groups(found.source.events(), study.contexts[0]), study.draws),
        ),
    }
    for key, (what, drawn) in nulls.items():
        numbers[f"exceptions_late_{key}"] = Number(
            f"time of {what} and their share of exceptions",
            finite_mean([exceptions_late(one, exception) for one in drawn]),
        )
    return numbers


def _of_loadings(found: Discovery, draws: int) -> list[Factors]:
    return [factorize(one, threshold=found.threshold) for one in surrogates(found, "loadings", draws)]


def _within(found: Discovery, groups: Int[np.ndarray, " events"], draws: int) -> list[Factors]:
    drawn = (np.random.default_rng(draw) for draw in range(draws))
    return [context_packets(found.factors, found.trained.values, groups, rng) for rng in drawn]
