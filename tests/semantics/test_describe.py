"""The search against brute force."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import f1_score

from quantascope.quanta.properties import Properties
from quantascope.runs.errors import InvalidConfig
from quantascope.semantics import Description, Units, describe
from quantascope.semantics.describe import COST, MOST_ATOMS


def table(values: np.ndarray) -> Properties:
    return Properties(tuple(f"p{atom}" for atom in range(len(values))), values, np.arange(values.shape[1]))


def score(holds: np.ndarray, active: np.ndarray, judged: np.ndarray) -> float:
    return float(f1_score(active[judged], holds[judged], zero_division=0))


def brute_force(properties: Properties, active: np.ndarray, judged: np.ndarray) -> tuple[float, Description]:
    """Every description of one or two of the best atoms, written out and scored by another library."""
    rank = sorted(properties.names, key=lambda name: -score(properties.atom(name), active, judged))[:MOST_ATOMS]
    pairs = list(itertools.combinations(rank, 2))
    every = [
        *(Description((name,)) for name in rank),
        *(Description(pair, "and") for pair in pairs),
        *(Description(pair, "or") for pair in pairs),
    ]
    scored = [(score(one.holds(properties), active, judged) - COST * (len(one.atoms) - 1), one) for one in every]
    return max(scored, key=lambda pair: pair[0])


@pytest.mark.parametrize(("atoms", "seed"), [*itertools.product([1, 5], range(6)), (24, 0), (24, 1)])
def test_the_search_finds_what_brute_force_finds(atoms, seed):
    rng = np.random.default_rng(seed)
    properties = table(rng.random((atoms, 60)) < rng.random((atoms, 1)))
    judged = rng.random((4, 60)) < 0.8
    active = (rng.random((4, 60)) < rng.random((4, 1))) & judged
    found = describe(properties, Units(tuple("abcd"), active, judged))
    for row, description in enumerate(found):
        best, expected = brute_force(properties, active[row], judged[row])
        objective = score(description.holds(properties), active[row], judged[row])
        assert objective - COST * (len(description.atoms) - 1) == pytest.approx(best, abs=1e-12)
        assert description == expected


@pytest.mark.parametrize("joined", ["and", "or"])
def test_a_planted_pair_comes_back(joined, rng):
    properties = table(rng.random((30, 500)) < 0.4)
    planted = Description(("p7", "p19"), joined)
    [found] = describe(properties, Units.of(["unit"], planted.holds(properties)[None]))
    assert set(found.atoms) == set(planted.atoms)
    assert found.joined == joined


def test_a_second_atom_must_be_worth_its_cost():
    one = np.array([True] * 100 + [False] * 100)
    active, rare = one.copy(), np.zeros(200, dtype=bool)
    active[100] = rare[100] = True
    [found] = describe(table(np.stack([one, rare])), Units.of(["unit"], active[None]))
    assert found == Description(("p0",))
    active[100:110] = rare[100:110] = True
    [found] = describe(table(np.stack([one, rare])), Units.of(["unit"], active[None]))
    assert found == Description(("p0", "p1"), "or")


def test_events_that_are_not_judged_do_not_matter(rng):
    values = rng.random((6, 300)) < 0.5
    judged = rng.random((1, 300)) < 0.5
    active = values[2:3] & judged
    [whole] = describe(table(values), Units(("unit",), active, judged))
    assert whole == Description(("p2",))
    other = values.copy()
    other[:, ~judged[0]] = ~other[:, ~judged[0]]
    assert describe(table(other), Units(("unit",), active, judged)) == [whole]


def test_a_description_has_one_atom_or_two_that_are_joined():
    with pytest.raises(InvalidConfig, match="2 atoms joined by None"):
        Description(("a", "b"))
