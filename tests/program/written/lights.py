"""Traffic lights: an enum of states, a table of what follows, and a pedestrian's button."""

from enum import Enum, auto

from quantascope.program import Registry, lift, when


class Light(Enum):
    RED = auto()
    GREEN = auto()
    AMBER = auto()

    @property
    def follows(self):
        return {Light.RED: Light.GREEN, Light.GREEN: Light.AMBER, Light.AMBER: Light.RED}[self]


registry = Registry()


@registry.quantum("NOW", output_cardinality=3)
def now(light, written):
    return Light[written[-1].upper()] if written else Light[light]


@registry.quantum("STOP", output_cardinality=2)
def stop(button, position):
    return position == 3 or (button and position == 1)


@registry.quantum("LIGHT", output_cardinality=3)
def say(light):
    return light.name.lower()


@registry.quantum("END", output_cardinality=1)
def end(stop):
    return "."


@registry.entry(
    audit=[(light.name, button) for light in Light for button in (False, True)],
    vocabulary=["red", "green", "amber", "."],
    end=".",
)
def predict(state):
    light, button = state.source
    finished = stop(button, state.position)
    with when(finished, True) as over:
        if over:
            return end(finished)
    with when(finished, False) as going:
        if going:
            return say(lift(getattr, now(light, state.written), "follows"))
    return None


EDGES = {"STOP": "NOW END", "NOW": "LIGHT"}
WRITES = {("RED", False): "green amber red .", ("GREEN", True): "amber ."}
