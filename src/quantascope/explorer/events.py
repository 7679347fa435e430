"""Lists of events: how much a quantum helped each, and pages of the strongest, the borderline and the others.

A quantum with curve ρ helped an event by the projection onto ρ of the event's remaining priority P in the layer,
after subtracting the quanta found earlier:

    s = <P − Σ_j a_j ρ_j, ρ> / <ρ, ρ>        1 for an event that was helped as much as the curve, 0 for none

An event is in the support if s is above one half; events near one half are borderline.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from quantascope.discovery.discover import Discovery
from quantascope.explorer.request import Request
from quantascope.explorer.source_run import SourceRun

PAGE = 50
WHICH = ("strongest", "borderline", "absent")


def events(run: SourceRun, asked: Request) -> dict[str, Any]:
    """A page of the events of a quantum, in their context."""
    found = run.discovery
    factor = found.names.index(asked.one_of("name", found.names))
    which, offset = asked.one_of("which", WHICH, WHICH[0]), asked.number("offset", 0)
    share = _kept_shares(run, found, factor)
    place, keys = _listed(share, found.factors.supports[factor], which)
    return {
        "total": len(place),
        "offset": offset,
        "limit": PAGE,
        "events": run.contexts.show(place[page_of(keys, offset)], share, share),
    }


def shares(found: Discovery, factor: int) -> Float[np.ndarray, " events"]:
    """How much a quantum helped each training event."""
    factors = found.factors
    layer, curve = int(factors.layer[factor]), factors.curves[factor]
    before = np.flatnonzero((factors.layer == layer) & (np.arange(len(factors)) < factor))
    taken = factors.curves[before] @ curve
    along = found.trained.values[layer] @ curve
    return (along - taken @ factors.supports[before].astype(np.float64)) / (curve @ curve)


def _kept_shares(run: SourceRun, found: Discovery, factor: int) -> Float[np.ndarray, " events"]:
    return run.kept.get(f"shares {factor}", lambda: shares(found, factor), of=found)


def _listed(
    share: Float[np.ndarray, " events"], member: np.ndarray, which: str
) -> tuple[Int[np.ndarray, " listed"], Float[np.ndarray, " listed"]]:
    """The events of a list with their sort key: farthest inside, nearest to the boundary, or least helped."""
    if which == "borderline":
        return np.arange(len(share)), np.abs(share - 0.5)
    place = np.flatnonzero(member if which == "strongest" else ~member)
    return place, -share[place] if which == "strongest" else np.abs(share[place])


def page_of(keys: Float[np.ndarray, " events"], offset: int) -> Int[np.ndarray, " shown"]:
    """The indices of one page by ascending key, stable for equal keys; sorts only what is shown.

    >>> page_of(np.array([3.0, 1.0, 2.0, 1.0]), 1).tolist()
    [3, 2, 0]
    """
    end = offset + PAGE
    near = np.arange(len(keys))
    if end < len(keys):
        near = np.flatnonzero(keys <= np.partition(keys, end - 1)[end - 1])
    return near[np.argsort(keys[near], kind="stable")][offset:end]
