"""The units of a source on real data: what they are called, how faithful its Q-model is, and which recur."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from quantascope.claims.real_study import Number, Numbers, Study, context_groups, context_key
from quantascope.discovery import recurrence
from quantascope.discovery.discover import Discovery
from quantascope.qmodel.recovered.fidelity import every_event, fidelity, gate_fidelity, parameter_share
from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.qmodel.recovered.source_effects import KINDS, Comparison, compare
from quantascope.semantics.explain import explain
from quantascope.semantics.subjects import QUANTUM, WRITER, factor_subject, qmodel_subject

MARK = 0.7
"""The F1 from which the paper counts a unit as described."""


def name_numbers(found: Discovery, run: RecoveredRun, study: Study) -> Numbers:
    """Descriptions of quanta, gates and writers on held-out inputs, and the best quantum for each probe."""
    asked = {"calibration": study.held_out, "test": study.test, "permutations": study.permutations}
    quanta = explain(factor_subject(found.source, found.factors, "path"), **asked)
    units = explain(qmodel_subject(run), **asked)
    kinds = (
        ("quanta", quanta.table()),
        ("gates", units.table().filter(pl.col("kind") == QUANTUM)),
        ("writers", units.table().filter(pl.col("kind") == WRITER)),
    )
    numbers: Numbers = {}
    for kind, table in kinds:
        numbers |= {
            f"{key}_{kind}": one for key, one in _described(kind, table.filter(pl.col("f1").is_not_null()))
        }
    for one in quanta.detected.get(QUANTUM, []):
        key = one.says.replace(" ", "_")
        numbers[f"detects_{key}"] = Number(f"F1 of the quantum that tells best: {one.says}", one.f1)
        numbers[f"detects_{key}_always"] = Number(f"F1 of always true: {one.says}", one.constant)
    return numbers


def _described(kind: str, table: pl.DataFrame) -> Iterator[tuple[str, Number]]:
    for column, key, says in (
        ("f1", "f1", "median held-out F1 of the descriptions of {}"),
        ("constant", "always", "median F1 of always true, {}"),
        ("permuted", "permuted", "median F1 for permuted labels, {}"),
    ):
        yield key, Number(says.format(kind), _median(table[column]))
    yield "varying", Number(f"{kind} that are not constant", len(table), kind)
    telling = table["tells"].to_numpy().astype(bool)
    yield "telling", Number(f"{kind} described beyond always true and permuted labels", int(telling.sum()), kind)
    marked = telling & (table["f1"].to_numpy() >= MARK)
    yield "marked", Number(f"those {kind} with an F1 of at least {MARK}", int(marked.sum()), kind)


def qmodel_numbers(run: RecoveredRun, study: Study) -> Numbers:
    """How faithful the Q-model is, and whether interventions in it predict those in the source."""
    seen = fidelity(run, study.test)
    shares = {
        "parameter_share": ("parameters of the Q-model over those of the source", parameter_share(run)),
        "agreement": ("agreement of source and Q-model", seen.agreement),
        "agreement_right": ("agreement where the source is right", seen.agreement_where_right),
        "agreement_wrong": ("agreement where the source is wrong", seen.agreement_where_wrong),
        "qmodel_token": ("token accuracy of the Q-model", seen.qmodel.token_accuracy),
        "source_token": ("token accuracy of the source on the same inputs", seen.source.token_accuracy),
    }
    numbers = {key: Number(says, 100 * value, "%") for key, (says, value) in shares.items()}
    numbers["gate_f1"] = Number("F1 of gates with held-out supports", gate_fidelity(run, study.held_out))
    numbers["active_quanta"] = Number("active quanta per event", seen.active_quanta, "quanta")
    numbers["channels"] = Number("selected channels", len(run.model.channels.edges), "channels")
    events = every_event(run.source, study.test, study.every)
    for model, suffix, about in ((run.model, "", ""), (run.unfitted(), "_unfitted", ", before the fit")):
        numbers |= _effect_numbers(compare(model, run.source.model(), events), suffix, about)
    return numbers


def _effect_numbers(compared: Comparison, suffix: str, about: str) -> Numbers:
    figures: tuple[tuple[str, str, Callable[[str], float]], ...] = (
        ("correlation", "correlation of predicted and found effect", compared.correlation),
        ("rank_correlation", "rank correlation of predicted and found effect", compared.rank_correlation),
        ("within_writers", "mean correlation over a writer's own events", compared.within_writers),
    )
    return {
        f"{key}_{kind}{suffix}": Number(f"{says}, {kind.replace('_', ' ')}{about}", value(kind))
        for kind in KINDS
        for key, says, value in figures
    }


def recurrence_numbers(found: Discovery, other: Discovery, study: Study) -> Numbers:
    """How a source's factors recur in the next seed's, beyond chance and beyond each context."""
    factors, events = [found.factors, other.factors], found.source.events()
    numbers: Numbers = {}
    for columns in ((), *study.contexts):
        groups = context_groups(events, columns) if columns else None
        own = recurrence(factors, within=groups, permutations=study.shuffles)[0]
        beyond = " and ".join(columns) or "chance"
        key = f"within_{context_key(columns)}" if columns else "chance"
        numbers[f"recurring_{key}"] = Number(
            f"quanta that recur in the next seed beyond {beyond}", 100 * float(own.share.mean()), "%"
        )
        numbers[f"level_{key}"] = Number(f"MCC to be beyond {beyond}", float(np.nanmean(own.chance)))
        if groups is not None:
            shared = np.bincount(groups)[groups] > 1
            numbers[f"shared_{key}"] = Number(f"events that share {beyond}", 100 * float(shared.mean()), "%")
        else:
            numbers["match_next"] = Number("mean MCC with the next seed", float(np.nanmean(own.mcc)))
    return numbers


def _median(values: pl.Series) -> float:
    return float(np.median(values.to_numpy())) if len(values) else math.nan
