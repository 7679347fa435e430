"""Finds which form of derivatives a model supports, and how much memory they take."""

from functools import partial
from typing import get_args

from quantascope.discovery.interval import Rule, linearize
from quantascope.discovery.linearized import Derivatives, Linearized, NotTwiceDifferentiable, Parameters
from quantascope.discovery.memory import Footprint
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.losses import TiedLosses
from quantascope.tasks.task import Examples


def check_derivatives(derivatives: str | None) -> None:
    """Raise if the form of derivatives is unknown."""
    if derivatives not in (None, *get_args(Derivatives)):
        raise InvalidConfig(
            f"unknown derivatives '{derivatives}'; give {' or '.join(get_args(Derivatives))}, or none to "
            "let the model decide"
        )


def form_and_footprints(
    event_losses: TiedLosses,
    start: Parameters,
    train: Examples,
    events: Examples,
    rule: Rule,
    derivatives: Derivatives | None,
) -> tuple[Derivatives, list[Footprint]]:
    """The requested form of derivatives, or one that the model supports, and the memory it takes."""
    if derivatives == "differences":
        return derivatives, footprints(event_losses, start, train, events, rule, derivatives)
    try:
        found = footprints(event_losses, start, train, events, rule, "backward")
        few = events[max(len(events) - 5, 0) : len(events)]
        Linearized(event_losses.beside(start), event_losses.parameters(start), [few]).check()
    except NotTwiceDifferentiable:
        if derivatives is not None:
            raise
        return "differences", footprints(event_losses, start, train, events, rule, "differences")
    return "backward", found


def footprints(
    event_losses: TiedLosses, start: Parameters, train: Examples, events: Examples, rule: Rule, form: Derivatives
) -> list[Footprint]:
    """The memory of derivatives, for measured examples and for training examples."""
    found = []
    for name, examples in {"train": train, "events": events}.items():
        if not len(examples):
            raise InvalidConfig(f"there are no examples in {name}; give at least one")
        if name == "events" or (rule == "gradient" and train is not events):
            work = partial(_differentiate, event_losses, start, examples, rule, form)
            found.append(Footprint.of(work, available=len(examples)))
    return found


def _differentiate(
    event_losses: TiedLosses, at: Parameters, examples: Examples, rule: Rule, form: Derivatives, some: slice
) -> None:
    parameters = event_losses.parameters(at)
    here = linearize(form, event_losses.beside(at), parameters, [examples[some]])
    if form == "differences" and rule == "gradient":
        here.gradient()
    here.along([parameters])
