"""Points as named tuples, and the quadrant in which they lie; a configured object is at hand."""

from typing import NamedTuple

from quantascope.program import Registry, lift, when

registry = Registry()


class Point(NamedTuple):
    x: int
    y: int


class Compass:
    """What the directions are called."""

    def __init__(self, north, south):
        self.names = {1: north, -1: south}

    def name(self, sign):
        return self.names[sign]


COMPASS = Compass("north", "south")


@registry.quantum("STAGE", output_cardinality=3)
def stage(position):
    return position


@registry.quantum("SIGNS", output_cardinality=4)
def signs(point):
    return Point(1 if point.x >= 0 else -1, 1 if point.y >= 0 else -1)


@registry.quantum("VERTICAL", output_cardinality=2)
def vertical(name):
    return name


@registry.quantum("HORIZONTAL", output_cardinality=2)
def horizontal(sign, *, east="east", west="west"):
    return east if sign > 0 else west


@registry.quantum("END", output_cardinality=1)
def end():
    return "."


@registry.entry(
    audit=[Point(x, y) for x in range(-3, 4) for y in range(-3, 4)],
    vocabulary=["north", "south", "east", "west", "."],
    end=".",
)
def predict(state):
    now = stage(state.position)
    with when(now, 2) as over:
        if over:
            return end()
    with when(now < 2, True) as writing:
        if writing:
            both = signs(state.source)
            with when(now, 0) as first:
                if first:
                    return vertical(lift(COMPASS.name, both.y))
            with when(now, 1) as second:
                if second:
                    return horizontal(both.x)
    return None


EDGES = {"STAGE": "SIGNS END", "SIGNS": "VERTICAL HORIZONTAL"}
WRITES = {Point(3, -2): "south east ."}
