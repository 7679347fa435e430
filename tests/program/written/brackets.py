"""Closes open brackets, innermost first: ([ becomes ] )."""

import itertools

from quantascope.program import Registry, when

CLOSING = {"(": ")", "[": "]"}
registry = Registry()


@registry.quantum("OPEN", output_cardinality=64)
def still_open(text, written):
    stack = []
    for symbol in (*text, *written):
        if symbol in CLOSING:
            stack.append(symbol)
        else:
            stack.pop()
    return tuple(stack)


@registry.quantum("DONE", output_cardinality=2)
def is_done(stack):
    return not stack


@registry.quantum("LAST", output_cardinality=2)
def last(stack):
    return stack[-1]


@registry.quantum("CLOSE", output_cardinality=2)
def close(bracket):
    return CLOSING[bracket]


@registry.quantum("END", output_cardinality=1)
def end(done):
    return "."


AUDIT = ["".join(text) for length in range(5) for text in itertools.product("([", repeat=length)] + ["()[", "[()"]


@registry.entry(audit=AUDIT, vocabulary=[")", "]", "."], end=".")
def predict(state):
    stack = still_open(state.source, state.written)
    done = is_done(stack)
    with when(done, True) as finished:
        if finished:
            return end(done)
    with when(done, False) as closing:
        if closing:
            return close(last(stack))
    return None


EDGES = {"OPEN": "DONE", "DONE": "LAST END", "LAST": "CLOSE"}
WRITES = {"([": "] ) .", "[()": "] ."}
