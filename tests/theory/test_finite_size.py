"""Fitted exponents of finite forests, by depth class and node by node."""

import numpy as np
import pytest

from quantascope.runs.errors import InvalidConfig
from quantascope.theory import (
    ConstantComplexity,
    Poset,
    closure_from_query,
    fitted_exponent,
    loss_by_count,
    prescribed_classes,
    query_by_depth,
    regular_forest,
    sequential,
    size_biases,
)


@pytest.mark.parametrize("order", ["compositional", "direct"])
@pytest.mark.parametrize("depth", [3, 9])
def test_class_by_class_equals_node_by_node(order, depth):
    alpha = 0.25
    classes = prescribed_classes(roots=8, branching=2, depth=depth, alpha=alpha)
    parent = regular_forest(8, 2, depth)
    level = np.repeat(np.arange(depth + 1), classes.counts)
    query = query_by_depth(8, 2, depth, 2 ** (1 + alpha))[level]
    equal = ConstantComplexity(np.ones(len(query)))
    if order == "compositional":
        run = sequential(Poset.forest(parent), closure_from_query(parent, query), equal)
    else:
        run = sequential(Poset.antichain(len(query)), query, equal)
    unmet = np.append(np.cumsum(query[run.order][::-1])[::-1], 0.0)
    counts = np.arange(len(unmet), dtype=float)
    assert loss_by_count(classes, counts, order) == pytest.approx(unmet, abs=1e-12)


def test_a_finite_forest_follows_the_endless_law_up_to_its_leaves():
    classes = prescribed_classes(roots=8, branching=2, depth=20, alpha=0.3)
    known = np.cumsum(classes.counts)[:-1].astype(float)
    endless = (known / 8 + 1) ** -0.3  # at K = 8 (2^d − 1) quanta, the unmet demand is (ρ/β)^d
    assert loss_by_count(classes, known, "compositional") == pytest.approx(endless)


@pytest.mark.parametrize("alpha", [0.2, 0.25, 0.339137])
def test_the_bias_dies_with_size_and_faster_in_the_order_of_the_poset(alpha):
    found = list(size_biases(roots=8, branching=2, depths=range(4, 28, 3), alpha=alpha))
    for order in ("compositional", "direct"):
        bias = np.array([getattr(one, order) / alpha - 1 for one in found])
        assert (np.diff(bias) < 0).all()
        assert (bias > 0).all()
    assert all(one.direct > one.compositional for one in found)
    assert found[-1].quanta > 2e8
    assert found[-1].compositional == pytest.approx(alpha, rel=0.05)


@pytest.mark.parametrize("reach", [0.0, 0.01, 1.0])
def test_a_range_that_holds_nothing_is_refused(reach):
    with pytest.raises(InvalidConfig, match="no range to fit from 8 roots"):
        fitted_exponent(prescribed_classes(roots=8, branching=2, depth=3, alpha=0.2), reach=reach)
