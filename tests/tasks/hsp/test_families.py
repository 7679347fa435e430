from collections import Counter
from dataclasses import fields

import numpy as np
import pytest

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.hsp import (
    ClosureDemand,
    ComposedFamily,
    FlatFamily,
    LevelRatio,
    RegularFamily,
    ZipfDemand,
    build_forest,
)
from quantascope.theory import closure_from_query


def sensors_of(forest, nodes) -> set[int]:
    return {sensor for node in nodes for sensor in forest.support[node]}


def identical(one, other) -> bool:
    parts = [(getattr(one, field.name), getattr(other, field.name)) for field in fields(one)]
    return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in parts)


def zipf_by_hand(count: int, exponent: float) -> list[float]:
    weights = [rank**-exponent for rank in range(1, count + 1)]
    return [weight / sum(weights) for weight in weights]


def test_the_flat_family_is_64_pairs_at_inverse_rank_frequencies_dealt_at_random():
    forest = build_forest(FlatFamily())
    assert forest.parent.tolist() == [-1] * 64
    assert {len(support) for support in forest.support} == {2}
    assert forest.sensors == 64
    assert sensors_of(forest, range(64)) <= set(range(32))
    np.testing.assert_allclose(sorted(forest.query, reverse=True), zipf_by_hand(64, 1.0), rtol=1e-12)
    assert forest.query.tolist() != sorted(forest.query, reverse=True)


def test_the_rank_seed_deals_frequencies_anew_and_leaves_the_supports():
    one, other = build_forest(FlatFamily()), build_forest(FlatFamily(rank_seed=1))
    assert one.support == other.support
    assert one.query.tolist() != other.query.tolist()
    assert sorted(one.query) == sorted(other.query)
    moved = build_forest(FlatFamily(support_seed=1))
    assert moved.support != one.support
    assert moved.query.tolist() == one.query.tolist()


def test_the_composed_family_nands_32_private_with_4_unqueried_shared_parities_of_8_tasks_each():
    forest = build_forest(ComposedFamily())
    shared, tasks = range(4), range(4, 36)
    assert forest.tasks.tolist() == list(tasks)
    assert forest.query[:4].tolist() == [0.0] * 4
    assert forest.parent[:4].tolist() == [-1] * 4
    assert Counter(forest.parent[4:].tolist()) == dict.fromkeys(shared, 8)
    assert [len(forest.support[node]) for node in shared] == [3] * 4
    assert [len(forest.support[node]) for node in tasks] == [1] * 32
    np.testing.assert_allclose(sorted(forest.query[4:], reverse=True), zipf_by_hand(32, 0.75), rtol=1e-12)


def test_the_composed_family_reads_two_separate_pools_and_never_a_distractor():
    forest = build_forest(ComposedFamily())
    assert forest.sensors == 96
    assert sensors_of(forest, range(4, 36)) == set(range(32))  # 32 single sensors of 32: all of them
    assert sensors_of(forest, range(4)) <= set(range(32, 64))


@pytest.mark.parametrize(("roots", "depth", "nodes"), [(4, 3, 60), (8, 5, 504), (16, 1, 48)])
def test_a_regular_family_has_the_nodes_of_its_levels(roots, depth, nodes):
    forest = build_forest(RegularFamily(roots=roots, depth=depth, pool=100, distractors=0))
    assert len(forest.parent) == len(forest.tasks) == nodes
    assert Counter(forest.depth.tolist()) == {level: roots * 2**level for level in range(depth + 1)}
    assert Counter(Counter(forest.parent[forest.parent >= 0].tolist()).values()) == {2: nodes - roots * 2**depth}


def test_regular_distractors_are_never_read():
    forest = build_forest(RegularFamily(roots=4, depth=3, pool=20, distractors=7))
    assert forest.sensors == 27
    assert sensors_of(forest, range(60)) <= set(range(20))


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.1, 2.0, 5.0])
def test_a_child_is_queried_ratio_times_as_often_as_its_parent(ratio):
    forest = build_forest(RegularFamily(roots=4, branching=3, depth=2, demand=LevelRatio(ratio=ratio)))
    child = np.flatnonzero(forest.parent >= 0)
    np.testing.assert_allclose(forest.query[child] / forest.query[forest.parent[child]], ratio, rtol=1e-14)


@pytest.mark.parametrize(("branching", "beta"), [(2, 2**1.2), (3, 3.5), (1, 1.25)])
def test_closure_queries_are_the_moebius_inversion_of_the_prescribed_closure_demand(branching, beta):
    roots = 3
    forest = build_forest(
        RegularFamily(roots=roots, branching=branching, depth=3, pool=64, demand=ClosureDemand(beta=beta))
    )
    closure = beta ** -forest.depth.astype(float) / roots
    by_hand = closure.copy()
    for node, above in enumerate(forest.parent.tolist()):
        if above >= 0:
            by_hand[above] -= closure[node]
    np.testing.assert_allclose(forest.query, by_hand, rtol=1e-12)
    assert forest.query.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(closure_from_query(forest.parent, forest.query), closure, rtol=1e-12)


def test_half_of_the_papers_queries_are_leaves():
    forest = build_forest(RegularFamily(pool=100))
    assert forest.query[forest.depth == 5].sum() == pytest.approx(0.5, abs=1e-12)


def test_zipf_demand_deals_its_ranks_across_all_depths():
    forest = build_forest(RegularFamily(roots=4, depth=3, demand=ZipfDemand(exponent=0.9)))
    np.testing.assert_allclose(sorted(forest.query, reverse=True), zipf_by_hand(60, 0.9), rtol=1e-12)
    commonest = np.argsort(-forest.query)[:30]
    assert set(forest.depth[commonest].tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    "family",
    [
        FlatFamily(tasks=9),
        ComposedFamily(support_seed=5),
        RegularFamily(roots=4, depth=3, demand=ZipfDemand(rank_seed=2)),
    ],
)
def test_equal_configs_give_equal_forests(family):
    again = type(family).parse(family.model_dump(mode="json"))
    assert again == family
    assert identical(build_forest(family), build_forest(again))
    assert not identical(build_forest(family), build_forest(family.replace({"support_seed": 99})))


@pytest.mark.parametrize("beta", [2.0, 1.5])
def test_closure_demand_that_does_not_exceed_the_branching_is_refused_naming_both(beta):
    with pytest.raises(InvalidConfig, match=rf"beta {beta} does not exceed the branching factor rho = 2"):
        build_forest(RegularFamily(roots=2, depth=2, demand=ClosureDemand(beta=beta)))


def test_a_family_that_does_not_fit_its_pool_is_refused_with_what_fits():
    with pytest.raises(
        InvalidConfig, match=r"64 supports of degree 2 .* 11 sensors, which have 55; .* at least 12"
    ):
        build_forest(FlatFamily(pool=11))
