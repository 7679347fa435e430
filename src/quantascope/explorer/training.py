"""The training view: losses, acquisition curves of all quanta, and the events that an interval helped."""

from collections import Counter
from typing import Any

import numpy as np
from jaxtyping import Float

from quantascope.discovery.discover import Discovery
from quantascope.explorer.events import PAGE, page_of
from quantascope.explorer.request import Request
from quantascope.explorer.source_run import SourceRun
from quantascope.explorer.values import drawn, thinned
from quantascope.runs.errors import InvalidConfig

MOST_CLASSES = 8
MOST_POINTS = 1000
OUTSIDE = "outside the layers"


def training(run: SourceRun) -> dict[str, Any]:
    """Losses by step, and when each quantum was acquired."""
    found = run.discovery if run.look()[0]["quanta"].missing is None else None
    losses = [*_of_steps(run), *(_of_checkpoints(found) if found else [])]
    if found is None:
        return {"losses": losses, "bounds": run.source.steps, "layers": list(run.source.layers), "quanta": []}
    layers = found.trained.layers
    return {
        "losses": losses,
        "bounds": found.trained.steps.tolist(),
        "layers": list(layers),
        "quanta": [
            {"name": name, "layer": layers[layer], "values": drawn(curve)}
            for name, layer, curve in zip(
                found.names, found.factors.layer.tolist(), found.factors.curves, strict=True
            )
        ],
    }


def _of_steps(run: SourceRun) -> list[dict[str, Any]]:
    """The training loss before each update, if known."""
    losses = run.source.step_loss
    if losses is None or not len(losses):
        return []
    places = thinned(len(losses), MOST_POINTS)
    return [{"name": "every step", "kind": "step", "steps": places, "values": drawn(losses[places])}]


def _of_checkpoints(found: Discovery) -> list[dict[str, Any]]:
    steps, losses = found.trained.steps.tolist(), found.trained.losses
    curves = [
        ("training", "all", losses.mean(0, dtype=np.float64)),
        (f"held-out ({found.panel})" if found.panel else "held-out", "held-out", found.held_out_loss),
        *((word, "class", losses[own].mean(0, dtype=np.float64)) for word, own in _classes(found)),
    ]
    return [{"name": name, "kind": kind, "steps": steps, "values": drawn(values)} for name, kind, values in curves]


def _classes(found: Discovery) -> list[tuple[str, np.ndarray]]:
    """The most common labels of the training events, and the events of each."""
    labels = np.asarray(found.labels)
    return [(word, labels == word) for word, _ in Counter(found.labels).most_common(MOST_CLASSES)]


def interval(run: SourceRun, asked: Request) -> dict[str, Any]:
    """The events that updates between two checkpoints helped, by layer, and the quanta that grew."""
    found = run.discovery
    first, last = _places(found, asked.number("from"), asked.number("to"))
    credit, offset = _credit(run, found), asked.number("offset", 0)
    value = credit[last] - credit[first]
    helped = int((value > 0).sum())
    shown = page_of(-value, offset)[: max(0, helped - offset)]
    return {
        "total": helped,
        "offset": offset,
        "limit": PAGE,
        "events": run.contexts.show(shown, value, value / max(float(value.max()), 1e-12)),
        "layers": _shares(run, found, first, last),
        "quanta": _grown(found, first, last),
    }


def _places(found: Discovery, start: int, end: int) -> tuple[int, int]:
    """The indices of two checkpoints with these steps."""
    steps = found.trained.steps
    for step in (start, end):
        if step not in steps:
            near = int(steps[np.abs(steps - step).argmin()])
            raise InvalidConfig(f"priority was not measured at step {step}; the nearest step is {near}")
    if start >= end:
        raise InvalidConfig(f"an interval from step {start} to {end} is empty; let it end after its start")
    return int(np.searchsorted(steps, start)), int(np.searchsorted(steps, end))


def _credit(run: SourceRun, found: Discovery) -> Float[np.ndarray, "checkpoints events"]:
    """Credit of each event up to each checkpoint (cached)."""
    return run.kept.get("credit", lambda: _upto(found.trained.total, np.float64), of=found)


def _shares(run: SourceRun, found: Discovery, first: int, last: int) -> list[dict[str, Any]]:
    """The share of positive credit through each layer."""
    field = found.trained

    def summed() -> list[np.ndarray]:
        return [_upto(part, np.float32) for part in (*field.values, field.other)]

    layers = run.kept.get("credit by layer", summed, of=found)
    helped = [float(np.maximum(one[last] - one[first], 0).sum(dtype=np.float64)) for one in layers]
    total = sum(helped) or 1.0
    names = (*field.layers, OUTSIDE)
    return [{"layer": name, "share": one / total} for name, one in zip(names, helped, strict=True)]


def _upto(credit: Float[np.ndarray, "events intervals"], dtype: type) -> Float[np.ndarray, "checkpoints events"]:
    """Credit up to each checkpoint, so that any interval is a difference of two rows."""
    upto = np.zeros((credit.shape[1] + 1, len(credit)), dtype)
    for place, gained in enumerate(credit.T):
        np.add(upto[place], gained, out=upto[place + 1])
    return upto


def _grown(found: Discovery, first: int, last: int) -> list[dict[str, Any]]:
    """The share of each quantum that was acquired in an interval, the largest first."""
    upto = np.pad(found.factors.cumulative, ((0, 0), (1, 0)))
    gained = upto[:, last] - upto[:, first]
    order = [place for place in np.argsort(-gained, kind="stable").tolist() if gained[place] > 0]
    names = found.names
    return [{"name": names[place], "gained": float(gained[place])} for place in order]
