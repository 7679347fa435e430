import numpy as np
import pytest

from quantascope.scaling import compositional_order, direct_order, loss_after, reconstructed
from quantascope.tasks.hsp import ClosureDemand, RegularFamily, build_forest
from quantascope.theory import initial_loss, prescribed_classes, query_by_depth, sequential_classes

FOREST = build_forest(RegularFamily(roots=2, depth=3, pool=16, demand=ClosureDemand(beta=2.4)))


def test_the_compositional_order_has_every_parent_before_its_children_and_the_direct_one_goes_by_query():
    order = compositional_order(FOREST).tolist()
    assert all(above < 0 or order.index(above) < order.index(node) for node, above in enumerate(FOREST.parent))
    assert (np.diff(FOREST.query[direct_order(FOREST)]) <= 1e-15).all()
    # Leaves are asked more often than the level above them: the two orders differ.
    assert FOREST.depth[direct_order(FOREST)].tolist() != FOREST.depth[compositional_order(FOREST)].tolist()


def test_the_loss_after_k_functions_is_what_the_missing_ones_cost():
    order = compositional_order(FOREST)
    for count in (0, 1, 7, len(order)):
        missing = order[count:]
        expected = sum(FOREST.query[q] * initial_loss(int(FOREST.depth[q])) for q in missing)
        assert loss_after(FOREST, order, np.array([float(count)])) == pytest.approx(expected)
        known = np.isin(FOREST.tasks, order[:count])
        assert reconstructed(FOREST, known[None, :]) == pytest.approx(expected)
    between = loss_after(FOREST, order, np.array([3.0, 3.5, 4.0]))
    assert between[1] == pytest.approx((between[0] + between[2]) / 2)


def test_the_order_by_level_is_that_of_the_depth_classes():
    run = sequential_classes(prescribed_classes(roots=2, branching=2, depth=3, alpha=np.log2(2.4) - 1))
    weight = query_by_depth(2, 2, 3, 2.4)[FOREST.depth]
    order = compositional_order(FOREST)
    unmet = [weight[order[count:]].sum() for count in range(len(order) + 1)]
    assert run.loss_at_count(np.arange(len(order) + 1)) == pytest.approx(unmet, abs=1e-12)
