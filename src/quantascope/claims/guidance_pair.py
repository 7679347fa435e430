"""A guided student beside one that learns by cross-entropy alone, from the same start, with their Q-model."""

from collections.abc import Sequence

from quantascope.claims.guidance_runs import GuidanceOutcome, GuidanceRuns
from quantascope.claims.result import Estimate
from quantascope.guidance.learner import GuidedLearner


def pair(guided: GuidedLearner) -> GuidanceRuns:
    """The runs of a guided student and of the same student without guidance."""
    return GuidanceRuns(
        teachers={"qmodel": guided.teacher}, students={"ce": guided.replace({"weight": 0.0}), "guided": guided}
    )


def compared(found: Sequence[GuidanceOutcome], panel: str, about: str) -> dict[str, Estimate]:
    """Exact accuracy of both on a panel, that of the Q-model, and the paired gain."""
    key, over = f"{panel}_exact", Estimate.over_runs
    ce, guided = ([100 * run.students[row].accuracy[key] for run in found] for row in ("ce", "guided"))
    return {
        "ce": over(f"cross-entropy alone, {about}", ce, "%"),
        "guided": over(f"guided, {about}", guided, "%"),
        "qmodel": over(f"Q-model, {about}", [100 * run.teachers["qmodel"].accuracy[key] for run in found], "%"),
        "gain": over(f"gain by guidance, {about}", [g - c for g, c in zip(guided, ce, strict=True)], "points"),
    }
