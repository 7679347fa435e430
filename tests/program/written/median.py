"""The median and the spread of three numbers, sorted between quanta."""

import itertools

from quantascope.program import Registry, lift, when

registry = Registry()


@registry.quantum("STAGE", output_cardinality=3)
def stage(position):
    return position


@registry.quantum("NUMBERS", output_cardinality=99)
def numbers(text):
    return tuple(map(int, text.split()))


@registry.quantum("MEDIAN", output_cardinality=5)
def median(middle):
    return str(middle)


@registry.quantum("SPREAD", output_cardinality=5)
def spread(low, high):
    return str(high - low)


@registry.quantum("END", output_cardinality=1)
def end():
    return "."


@registry.entry(
    audit=[f"{a} {b} {c}" for a, b, c in itertools.product(range(4), repeat=3)],
    vocabulary=[*"0123", "."],
    end=".",
)
def predict(state):
    now = stage(state.position)
    with when(now, 2) as over:
        if over:
            return end()
    with when(now != 2, True) as writing:
        if writing:
            low, middle, high = lift(tuple, lift(sorted, numbers(state.source), reverse=False))
            with when(now, 0) as first:
                if first:
                    return median(middle)
            with when(now, 1) as second:
                if second:
                    return spread(high=high, low=low)
    return None


EDGES = {"STAGE": "NUMBERS END", "NUMBERS": "MEDIAN SPREAD"}
WRITES = {"3 0 1": "1 3 ."}
