"""What is active while a Q-model names 346 and 800 (appendix G.3; tables 3 to 5, figures 6a and 7).

At each word of a fit's own output, the open gates and active writers are counted, with how much they write and how
well their descriptions hold on other inputs. Units of one fit have no counterpart in another, so only these sums
over units are compared with the paper's, over fits. A fit that says another word leaves the figures of that word
undefined.

The paper's *activity* of a writer is not what it executes: its code shows GELU(s) ‖v‖ for a score s and a
direction v that the network normalises. The same is measured here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
import torch
from torch.nn import functional

from quantascope.claims.claim import Claim, no_summary
from quantascope.claims.recover_quanta import SOURCES
from quantascope.claims.recovered_models import (
    FittedSource,
    check_fits,
    compared_fits,
    total_updates,
)
from quantascope.claims.result import Estimate
from quantascope.claims.semantics import (
    CLAIM as SEMANTICS,
)
from quantascope.claims.semantics import (
    MARK,
    ExplainedFits,
    ExplainedSource,
    explained_fits,
    explained_source,
)
from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.qmodel.recovered.trace import Step, Trace, trace
from quantascope.runs.progress import Progress
from quantascope.semantics.subjects import WRITER

INPUTS = ("346", "800")
DRAWN = "forty"
"""The word of figure 6a, which does not show what table 3 says of it."""


@dataclass(frozen=True, eq=False)
class TracedSource:
    """The Q-models of a source, and their units in words."""

    fitted: FittedSource
    explained: ExplainedSource


@dataclass(frozen=True, eq=False)
class TracedFit:
    """A Q-model that names a number, and the F1 of its writers' descriptions."""

    run: RecoveredRun
    text: str
    f1: Mapping[str, float]

    @cached_property
    def trace(self) -> Trace:
        """What was active."""
        return trace(self.run, self.text)

    @property
    def steps(self) -> dict[str, Step]:
        """The steps by word; only of an output that is right so far."""
        found: dict[str, Step] = {}
        for step in self.trace.steps:
            if step.token != step.right:
                break
            found[step.token.lower()] = step
        return found

    def scores(self, steps: Sequence[Step]) -> list[float]:
        """F1 of every writer that writes; those without a description are left out."""
        return [self.f1[unit.name] for step in steps for unit in step.writers if unit.name in self.f1]

    @cached_property
    def lengths(self) -> dict[str, float]:
        """The norm of each writer's direction before normalisation."""
        model = self.run.model
        names = [name for of_quantum in model.writer_names for name in of_quantum]
        return dict(zip(names, model.direction.detach().norm(dim=-1).flatten().tolist(), strict=True))

    def activity(self, step: Step) -> float:
        """The paper's measure of the activity of all writers at a step."""
        score = torch.tensor([unit.activity for unit in step.writers])
        length = torch.tensor([self.lengths[unit.name] for unit in step.writers])
        return float((functional.gelu(score) * length).sum())


def traced_source(
    config: ExplainedFits, path: Path, progress: Progress | None = None, *, device: str = "cpu"
) -> TracedSource:
    """Fit, or read, the Q-models of a source whose units are named."""
    explained = explained_source(config, path, progress, device=device)
    return TracedSource(explained_fits(config, path, device=device), explained)


def traced(evidence: Mapping[str, TracedSource], text: str) -> list[TracedFit]:
    """The faithful fits that are compared, naming a number."""
    fits = compared_fits({label: one.fitted for label, one in evidence.items()}, "faithful")
    names = {
        run.path: table.names
        for one in evidence.values()
        for run, table in zip(one.fitted.of("faithful"), one.explained.models["faithful"], strict=True)
    }
    return [TracedFit(run, text, _f1(names[run.path])) for run in fits]


def _f1(names: pl.DataFrame) -> dict[str, float]:
    told = names.filter((pl.col("kind") == WRITER) & pl.col("f1").is_not_null())
    return dict(zip(told["unit"], told["f1"], strict=True))


def measure(config: object, evidence: Mapping[str, TracedSource]) -> dict[str, Estimate]:
    """Gates, writers, activity and F1 at each word, and of whole outputs."""
    figures: dict[str, Estimate] = {}
    for text in INPUTS:
        fits = traced(evidence, text)
        for word in ("three", "hundred", "forty", "six", "eos") if text == "346" else ("eight", "hundred", "eos"):
            figures |= _at_word(fits, text, word)
        figures |= _of_output(fits, text)
    return figures


def _at_word(fits: Sequence[TracedFit], text: str, word: str) -> dict[str, Estimate]:
    values: dict[str, tuple[str, Callable[[TracedFit, Step], float], str]] = {
        "active_quanta": ("active quanta", lambda fit, step: len(step.gates), "quanta"),
        "active_writers": ("active writers", lambda fit, step: len(step.writers), "writers"),
        "activity": ("activity of the writers", lambda fit, step: fit.activity(step), ""),
        "mean_f1": ("mean F1 of active writers", lambda fit, step: _mean(fit.scores([step])), ""),
        "min_f1": ("lowest F1 of active writers", lambda fit, step: min(fit.scores([step]), default=np.nan), ""),
    }
    steps = [fit.steps.get(word) for fit in fits]
    found = {
        f"{key}_{text}_{word}": Estimate.over_runs(
            f"{says} for {word}, {text}",
            [value(fit, step) if step else np.nan for fit, step in zip(fits, steps, strict=True)],
            unit,
        )
        for key, (says, value, unit) in values.items()
    }
    if word != DRAWN:
        return found
    counts = ("active_quanta", "active_writers")
    return found | {f"{key}_{text}_{word}_figure": found[f"{key}_{text}_{word}"] for key in counts}


def _of_output(fits: Sequence[TracedFit], text: str) -> dict[str, Estimate]:
    whole = [list(fit.trace.steps) for fit in fits]
    scores = [fit.scores(steps) for fit, steps in zip(fits, whole, strict=True)]
    values = {
        "writer_occurrences": ("writers that write", [sum(len(s.writers) for s in steps) for steps in whole]),
        "mean_writer_f1": ("mean F1 of writers that write", [_mean(found) for found in scores]),
        "writer_occurrences_above_0_7": (
            "writers that write with F1 at least 0.7",
            [sum(one >= MARK for one in found) for found in scores],
        ),
        "matching_steps": (
            "words at which both models are right",
            [sum(s.token == s.source_token == s.right for s in steps) for steps in whole],
        ),
    }
    return {f"{key}_{text}": Estimate.over_runs(f"{says}, {text}", given) for key, (says, given) in values.items()}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


CLAIM = Claim(
    name="traces",
    says="few quanta and fewer writers are active at each word",
    presets=SEMANTICS.presets,
    runs=SEMANTICS.runs,
    prepare=lambda job: check_fits(job.fits),
    work=traced_source,
    steps=lambda job: total_updates(job.fits),
    measure=measure,
    summary=no_summary,
    keeps_figure=True,
    shares=SOURCES,
)
