"""The estimate of a field's cost against the work that the field takes."""

from dataclasses import replace

import pytest

from quantascope.discovery import cost as cost_module
from quantascope.discovery import field_cost, priority_field
from quantascope.discovery.interval import Interval
from quantascope.discovery.memory import PeakMemory
from quantascope.runs.errors import InvalidConfig

GROUPS = {"first": "blocks.0.*", "second": "blocks.1.*"}


@pytest.fixture
def points(monkeypatch):
    """Examples and points of every interval that is measured."""
    counts, original = [], Interval.counted

    def counted(self, index):
        column, found = original(self, index)
        counts.append((len(self.events), found))
        return column, found

    monkeypatch.setattr(Interval, "counted", counted)
    return counts


@pytest.mark.parametrize("steps", [list(range(0, 61, 10)), [0, 30, 60]])
@pytest.mark.parametrize("rule", ["gradient", "path"])
@pytest.mark.parametrize("form", ["backward", "differences"])
def test_the_points_that_are_foretold_are_those_that_are_taken(adam, points, steps, rule, form):
    asked = {"train": adam.events, "rule": rule, "derivatives": form}
    if rule == "path":
        asked["tolerance"] = 1e-3
    cost = field_cost(adam.trajectory.at(steps), adam.losses, GROUPS, **asked)
    points.clear()
    priority_field(adam.trajectory.at(steps), adam.losses, GROUPS, **asked)
    taken = sum(found for _, found in points)
    assert taken / 1.5 <= cost.points <= taken * 1.5
    assert (cost.intervals, cost.layers, cost.derivatives) == (len(steps) - 1, 2, form)
    assert cost.events == adam.events.count


def test_seconds_are_those_of_every_point_and_example(adam, monkeypatch):
    """A clock that advances by a second for each example, and by three for each pass over any."""
    clock = [0.0]
    original = Interval.counted

    def counted(self, index):
        column, found = original(self, index)
        clock[0] += (3 + len(self.events)) * found
        return column, found

    monkeypatch.setattr(Interval, "counted", counted)
    monkeypatch.setattr(cost_module.time, "perf_counter", lambda: clock[0])
    many = adam.events
    for _ in range(3):
        many = many.joined(many)
    asked = {"train": many, "rule": "gradient"}
    assert field_cost(adam.trajectory, adam.losses, GROUPS, **asked).seconds == pytest.approx(6 * (3 + 96))
    shared = field_cost(adam.trajectory, adam.losses, GROUPS, workers=3, **asked)
    assert shared.seconds == pytest.approx(2 * (3 + 96))


def test_the_estimate_takes_a_fraction_of_an_interval_of_many_examples(adam, points):
    many = adam.events
    for _ in range(5):
        many = many.joined(many)
    field_cost(adam.trajectory, adam.losses, GROUPS, train=many, rule="gradient")
    assert sum(examples * found for examples, found in points) < len(many) / 2


@pytest.mark.parametrize("rule", ["gradient", "path"])
@pytest.mark.parametrize("form", ["backward", "differences"])
@pytest.mark.parametrize("memory", [2e9, 2e5])
def test_the_memory_that_is_foretold_is_that_which_is_used(sgd, rule, form, memory):
    short = replace(sgd, trajectory=sgd.trajectory.at([0, 10, 20]))
    asked = {"train": sgd.events, "rule": rule, "derivatives": form, "memory": memory}
    cost = field_cost(short.trajectory, sgd.losses, GROUPS, **asked)
    with PeakMemory() as used:
        priority_field(short.trajectory, sgd.losses, GROUPS, **asked)
    assert used.peak / 1.5 <= cost.bytes <= used.peak * 1.5


def test_no_workers_are_refused(sgd):
    with pytest.raises(InvalidConfig, match="0 workers cannot measure anything; give at least 1"):
        field_cost(sgd.trajectory, sgd.losses, GROUPS, train=sgd.events, workers=0)
