"""Differences digit by digit from the right, with a borrow: 52 - 17 is written 5 3."""

from quantascope.program import Registry, when

registry = Registry()


@registry.quantum("COLUMN", output_cardinality=4)
def column(position):
    return position


@registry.quantum("BORROW", output_cardinality=2)
def borrow(left, right, column):
    return int(left % 10**column < right % 10**column)


@registry.quantum("TOP", output_cardinality=10)
def top(left, column):
    return left // 10**column % 10


@registry.quantum("BOTTOM", output_cardinality=10)
def bottom(right, column):
    return right // 10**column % 10


@registry.quantum("DIGIT", output_cardinality=10)
def digit(top, bottom, borrow):
    return str((top - bottom - borrow) % 10)


@registry.quantum("END", output_cardinality=1)
def end(column):
    return "."


AUDIT = [(left, right) for left in range(0, 1000, 47) for right in range(0, left + 1, 31)]


@registry.entry(audit=AUDIT, vocabulary=[*"0123456789", "."], end=".")
def predict(state):
    left, right = state.source
    now = column(state.position)
    with when(now, 3) as over:
        if over:
            return end(now)
    with when(now < 3, True) as writing:
        if writing:
            borrowed = borrow(left, right, now)
            return digit(top(left, now), bottom(right, now), borrowed)
    return None


EDGES = {"COLUMN": "BORROW TOP BOTTOM END", "BORROW": "DIGIT", "TOP": "DIGIT", "BOTTOM": "DIGIT"}
WRITES = {(52, 17): "5 3 0 .", (900, 1): "9 9 8 ."}
