"""Greatest common divisors by recursion, cached, and in lowest terms: 6/8 is 3 / 4."""

from functools import lru_cache

from quantascope.program import Registry, when

registry = Registry()


@lru_cache
def divisor(left, right):
    return left if right == 0 else divisor(right, left % right)


@registry.quantum("PLACE", output_cardinality=4)
def place(position):
    return ["above", "line", "below", "end"][position]


@registry.quantum("DIVISOR", output_cardinality=30)
def common(above, below):
    return divisor(above, below)


@registry.quantum("ABOVE", output_cardinality=30)
def say_above(number, divisor):
    return str(number // divisor)


@registry.quantum("BELOW", output_cardinality=30)
def say_below(number, divisor):
    return str(number // divisor)


@registry.quantum("LINE", output_cardinality=1)
def line():
    return "/"


@registry.quantum("END", output_cardinality=1)
def end():
    return "."


CONSTANT = {"line": line, "end": end}
AUDIT = [(above, below) for above in range(1, 13) for below in range(1, 13)]


@registry.entry(audit=AUDIT, vocabulary=[*map(str, range(1, 13)), "/", "."], end=".")
def predict(state):
    above, below = state.source
    here = place(state.position)
    for case, say in CONSTANT.items():
        with when(here, case) as active:
            if active:
                return say()
    shared = common(above, below)
    with when(here, "above") as active:
        if active:
            return say_above(above, shared)
    with when(here, "below") as active:
        if active:
            return say_below(below, shared)
    return None


EDGES = {"PLACE": "ABOVE LINE BELOW END", "DIVISOR": "ABOVE BELOW"}
PASSED = {("PLACE", "DIVISOR")}
WRITES = {(6, 8): "3 / 4 .", (5, 1): "5 / 1 ."}
