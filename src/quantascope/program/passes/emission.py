"""Checks that exactly one quantum writes the token of an event, and that the token is in the vocabulary."""

from typing import NamedTuple, no_type_check

from quantascope.program.registry import Program
from quantascope.program.state import shown
from quantascope.program.traced import Traced
from quantascope.program.tracer import Execution
from quantascope.program.violations import NoEmitter, SeveralEmitters, unknown_token


class Emission(NamedTuple):
    """The quantum that wrote the token, and the token."""

    emitter: int
    token: str


@no_type_check
def emission(program: Program, execution: Execution) -> Emission:
    """The quantum that wrote the token of an execution, with the token."""
    result, state = execution.result, execution.state
    if type(result) is not Traced or not result.traced_producers:
        token = result.traced_value if type(result) is Traced else result
        raise NoEmitter(
            f"the entry {program.name} returns {shown(token)}, which no quantum wrote",
            "return the output of a quantum on every path",
            state=state,
        )
    emitter = result.traced_producers.bit_length() - 1
    if result.traced_producers != 1 << emitter:
        quanta = result.traced_observer.names(result.traced_producers)
        raise SeveralEmitters(
            f"the token {shown(result.traced_value)} is composed from {quanta}",
            "pass these values to one quantum that returns the token",
            state=state,
        )
    written = [
        value for (index, _), value in zip(execution.shape, execution.values, strict=True) if index == emitter
    ]
    if result.traced_reading is not None or written != [result.traced_value]:
        raise NoEmitter(
            f"the token {shown(result.traced_value)} was changed after the quantum returned",
            "return the quantum's output unchanged",
            quantum=program.registry.names[emitter],
            state=state,
        )
    if result.traced_value not in program.tokens:
        raise unknown_token(result.traced_value, state, program.registry.names[emitter])
    return Emission(emitter, result.traced_value)
