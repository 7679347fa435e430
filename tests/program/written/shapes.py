"""Areas of shapes that are dataclasses, in words of size."""

from dataclasses import dataclass, replace

from quantascope.program import Registry, when

registry = Registry()


@dataclass(frozen=True)
class Shape:
    kind: str
    width: int
    height: int = 1

    @property
    def area(self):
        return self.width * self.height if self.kind == "box" else self.width * self.height // 2


@registry.quantum("STAGE", output_cardinality=2)
def stage(position):
    return position


@registry.quantum("TURNED", output_cardinality=999)
def turned(shape):
    return replace(shape, width=max(shape.width, shape.height), height=min(shape.width, shape.height))


@registry.quantum("AREA", output_cardinality=99)
def area(shape):
    return shape.area


@registry.quantum("FLAT", output_cardinality=2)
def is_flat(width, height):
    return width > 3 * height


@registry.quantum("SIZE", output_cardinality=4)
def size(area, flat):
    return ("flat " if flat else "") + ("small" if area < 10 else "large")


@registry.quantum("END", output_cardinality=1)
def end():
    return "."


AUDIT = [Shape(kind, w, h) for kind in ("box", "wedge") for w in range(1, 16, 2) for h in (1, 2, 5)]


@registry.entry(audit=AUDIT, vocabulary=["small", "large", "flat small", "flat large", "."], end=".")
def predict(state):
    now = stage(state.position)
    with when(now, 1) as over:
        if over:
            return end()
    with when(now, 0) as begins:
        if begins:
            shape = turned(state.source)
            return size(area(shape), is_flat(shape.width, shape.height))
    return None


EDGES = {"STAGE": "TURNED END", "TURNED": "AREA FLAT", "AREA": "SIZE", "FLAT": "SIZE"}
WRITES = {Shape("box", 3, 4): "large .", Shape("wedge", 1, 9): "flat small ."}
