"""Calibrate, freeze, test; the baselines; what cannot be named."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from quantascope.quanta.properties import Properties
from quantascope.runs.errors import InvalidConfig
from quantascope.semantics import LEAST, Description, Units, detectors, name_units, shared_atoms
from quantascope.semantics.score import bootstrap_counts, example_counts, f1, interval


def table(values: np.ndarray, per_example: int = 4) -> Properties:
    names = tuple(f"p{atom}" for atom in range(len(values)))
    return Properties(names, values, np.arange(values.shape[1]) // per_example)


def panels(rng: np.random.Generator, atoms: int = 8, events: int = 800):
    return tuple(table(rng.random((atoms, events)) < 0.4) for _ in range(2))


def both(tables, rule) -> list:
    return [(one, Units.of(["unit"], rule(one.values)[None])) for one in tables]


def test_f1_is_that_of_another_library(rng):
    described, active = rng.random((2, 5, 300)) < 0.3
    expected = [f1_score(a, d) for a, d in zip(active, described, strict=True)]
    np.testing.assert_allclose(f1((described & active).sum(1), described.sum(1), active.sum(1)), expected)
    counts = example_counts(described, active, np.ones_like(active), np.arange(300) // 3).sum(-1)
    np.testing.assert_allclose(f1(*counts[:3]), expected)


def test_the_bootstrap_draws_whole_examples():
    """Two examples, one all right and one all wrong: a draw scores 1, 0 or 2/3, unlike draws of events."""
    right = np.array([[True] * 10 + [False] * 10])
    wrong = np.array([[False] * 10 + [True] * 10])
    example = np.repeat([0, 1], 10)
    counts = example_counts(right | wrong, right, np.ones_like(right), example)
    scores = f1(*bootstrap_counts(counts, times=400)[:3])
    assert {round(value, 6) for value in scores[0]} == {0.0, round(2 / 3, 6), 1.0}
    assert scores[0].mean() == pytest.approx((1 + 2 * 2 / 3 + 0) / 4, abs=0.05)
    low, high = interval(scores)[:, 0]
    assert (low, high) == (0, 1)


def test_a_planted_description_is_frozen_and_scored_on_the_other_panel(rng):
    calibration, test = both(panels(rng), lambda p: p[1] & p[3])
    [named] = name_units(calibration, test)
    assert named.description == Description(("p1", "p3"), "and") or named.words == "p3 and p1"
    assert named.score.f1 == named.score.low == named.score.high == 1
    share = test[1].active.mean()
    assert named.active == pytest.approx(share)
    assert named.score.constant == pytest.approx(2 * share / (1 + share))
    assert named.score.permuted < named.score.constant
    assert named.score.gain == pytest.approx(1 - named.score.constant)
    assert named.tells


def test_what_is_chosen_on_calibration_is_not_chosen_again_on_test(rng):
    first, second = panels(rng)
    calibration = first, Units.of(["unit"], first.values[:1])
    test = second, Units.of(["unit"], second.values[1:2])
    [named] = name_units(calibration, test)
    assert named.words == "p0"
    assert named.score.f1 == pytest.approx(f1_score(second.values[1], second.values[0]))
    assert not named.tells


def test_a_frequent_random_unit_has_a_high_f1_and_tells_nothing(rng):
    tables = panels(rng)
    calibration, test = both(tables, lambda p: rng.random(p.shape[1]) < 0.9)
    [named] = name_units(calibration, test)
    assert named.score.f1 > 0.6
    assert named.score.constant == pytest.approx(2 * named.active / (1 + named.active))
    assert named.score.permuted == pytest.approx(named.score.f1, abs=0.05)
    assert not named.tells


def test_the_permuted_baseline_is_taken_where_a_writer_is_judged(rng):
    """Among the events of its owner the writer is active at random; everywhere, its owner would give it away."""
    tables = panels(rng)
    calibration, test = (
        (one, Units.owned(["w"], (one.values[:1] & (rng.random(one.events) < 0.8)), np.array([0]), one.values[:1]))
        for one in tables
    )
    [named] = name_units(calibration, test)
    assert named.events == tables[1].values[0].sum()
    assert named.active == pytest.approx(0.8, abs=0.05)
    assert named.score.permuted == pytest.approx(named.score.f1, abs=0.06)
    assert not named.tells


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda p: np.zeros(p.shape[1], dtype=bool), "constant: never active"),
        (lambda p: np.ones(p.shape[1], dtype=bool), "constant: always active"),
    ],
)
def test_a_constant_unit_is_told_and_not_named(rule, words, rng):
    calibration, test = both(panels(rng), rule)
    [named] = name_units(calibration, test)
    assert named.words == words
    assert named.description is named.score is None
    assert not named.tells


def test_constant_units_stand_among_the_others_in_their_places(rng):
    tables = panels(rng)
    calibration, test = (
        (one, Units.of("abc", np.stack([one.values[0], np.ones_like(one.values[0]), one.values[2]])))
        for one in tables
    )
    assert [named.words for named in name_units(calibration, test)] == ["p0", "constant: always active", "p2"]


def test_a_writer_whose_owner_never_opens_and_one_that_is_constant_in_one_panel_are_told(rng):
    first, second = panels(rng)
    shut, some = np.zeros((1, first.events), dtype=bool), first.values[:1]
    calibration = (
        first,
        Units.owned(["w", "v"], np.vstack([shut, some]), np.array([0, 1]), np.vstack([shut, some])),
    )
    test = second, Units(("w", "v"), np.vstack([shut, shut]), np.vstack([shut, second.values[:1]]))
    assert [named.words for named in name_units(calibration, test)] == [
        "constant: its owner is never active",
        "constant: always active or never, in one of the panels",
    ]


def test_atoms_are_kept_that_can_be_told_in_both_panels():
    events = np.arange(100)
    rare, often, absent = events < LEAST - 1, events < 101 - LEAST, np.zeros(100, dtype=bool)
    plain = events < LEAST
    values = np.stack([rare, often, absent, plain, plain, events % 2 == 0])
    first = table(values)
    second = Properties(first.names[:5], np.stack([plain] * 5), first.example)
    kept, same = shared_atoms(first, second)
    assert kept.names == same.names == ("p3",)
    with pytest.raises(InvalidConfig, match="none of 2 atoms has 20 events with and 20 without it in both panels"):
        shared_atoms(first.chosen(["p0", "p2"]), first)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda c, t: (c, (t[0], Units.of(["unit"], t[1].active[:, :-1])), 5), "give both on the same events"),
        (lambda c, t: (c, (t[0], Units.of(["other"], t[1].active)), 5), "the panels hold different units"),
        (lambda c, t: (c, t, 0), "0 permutations give no baseline"),
    ],
)
def test_panels_that_do_not_fit_are_refused(spoil, complaint, rng):
    calibration, test, permutations = spoil(*both(panels(rng), lambda p: p[0]))
    with pytest.raises(InvalidConfig, match=complaint):
        name_units(calibration, test, permutations=permutations)


def test_units_are_named_once_and_writers_obey_their_owners():
    active = np.array([[True, False]])
    with pytest.raises(InvalidConfig, match="2 names for 1 units"):
        Units.of(["a", "b"], active)
    with pytest.raises(InvalidConfig, match=r"L0\.Q0\.W0 is active where its owner is not"):
        Units.owned(["L0.Q0.W0"], active, np.array([0]), ~active)


def test_the_best_detector_is_chosen_on_one_panel_and_scored_on_the_other(rng):
    first, second = panels(rng)
    calibration = first, Units.of("ab", first.values[:2])
    test = second, Units.of("ab", second.values[[1, 0]])
    found = detectors(calibration, test)
    assert [one.unit for one in found[:2]] == ["a", "b"]
    for place, one in enumerate(found[:2]):
        assert one.f1 == pytest.approx(f1_score(second.values[place], second.values[1 - place]))
        assert one.low < one.f1 < one.high
        share = second.values[place].mean()
        assert one.constant == pytest.approx(2 * share / (1 + share))
