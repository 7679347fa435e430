"""Checks that every quantum matters: on some event, another output would have changed the token.

The pass replaces the quantum's output by one it has on another event and continues the program. An emitter always
matters, since its output is the token.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from quantascope.program.drawn import drawn
from quantascope.program.passes.execute import Event, Observations
from quantascope.program.passes.validate import Declaration
from quantascope.program.plain_run import PlainRun, Replacement
from quantascope.program.state import State
from quantascope.program.time_limit import Watch
from quantascope.program.violations import NoEffect

_EVENTS_TRIED = 200
_OUTPUTS_TRIED = 10


class Effect(NamedTuple):
    """A witness: on `state`, replacing `output` by `replaced` changes the token from `token` to `becomes`.

    For an emitter, whose output is the token, nothing needs to be replaced.
    """

    state: State
    token: str
    output: Any
    replaced: Any = None
    becomes: Any = None


def witnessed_effects(declaration: Declaration, observed: Observations, watch: Watch) -> tuple[Effect, ...]:
    """One witness for each quantum."""
    found = []
    for quantum, name in enumerate(declaration.names):
        events = _smallest_and_some(_active(observed, quantum))
        trials = _trials(events, quantum, list(observed.outcomes[quantum]))
        effect = next((e for trial in trials if (e := _effect(declaration, watch, *trial))), None)
        if effect is None:
            raise NoEffect(
                "changes no token, whatever it returns", "use its output, or remove it", quantum=name,
                state=events[0].state,
            )  # fmt: skip
        found.append(effect)
    return tuple(found)


def _active(observed: Observations, quantum: int) -> list[Event]:
    activations = [one for one in observed.by_activation if quantum in dict(one.shape)]
    return [event for activation in activations for event in observed.by_activation[activation]]


def _smallest_and_some(events: list[Event]) -> list[Event]:
    """The smallest events, and others drawn from all parts of the rest."""
    if len(events) <= _EVENTS_TRIED:
        return events
    half = _EVENTS_TRIED // 2
    return events[:half] + drawn(events[half:], half)


def _trials(events: list[Event], quantum: int, outputs: list[Any]) -> Iterator[tuple[Event, int, Any]]:
    for event in events:
        if event.activation.emitter == quantum:
            yield event, quantum, None
            return
    for place, event in enumerate(events):
        for turn in range(min(_OUTPUTS_TRIED, len(outputs))):
            yield event, quantum, outputs[(place + turn) % len(outputs)]


def _effect(declaration: Declaration, watch: Watch, event: Event, quantum: int, replaced: Any) -> Effect | None:
    output = next(
        v for (index, _), v in zip(event.activation.shape, event.values, strict=True) if index == quantum
    )
    if event.activation.emitter == quantum:
        return Effect(event.state, event.token, output)
    watch.at_intervention(event.state)
    run = PlainRun(declaration.program, event.state, Replacement(quantum, replaced))
    if run.failure is not None or run.result == event.token:
        return None
    return Effect(event.state, event.token, output, replaced, run.result)
