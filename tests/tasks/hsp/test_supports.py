import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.hsp.supports import draw_supports, mask_of, reduce_mask


def gf2_rank(rows: np.ndarray) -> int:
    """Gaussian elimination modulo two on a matrix of zeros and ones."""
    rows, rank = rows.copy() % 2, 0
    for column in range(rows.shape[1]):
        pivots = np.flatnonzero(rows[rank:, column])
        if pivots.size:
            rows[[rank, rank + pivots[0]]] = rows[[rank + pivots[0], rank]]
            others = np.flatnonzero(rows[:, column])
            rows[others[others != rank]] ^= rows[rank]
            rank += 1
            if rank == len(rows):
                break
    return rank


def as_rows(supports, sensors: int) -> np.ndarray:
    rows = np.zeros((len(supports), sensors), dtype=np.int64)
    for row, support in zip(rows, supports, strict=True):
        row[list(support)] = 1
    return rows


def path_to(parent, node: int) -> list[int]:
    return [] if node == -1 else [*path_to(parent, parent[node]), node]


@settings(deadline=None, max_examples=60)
@given(data=st.data(), nodes=st.integers(1, 8), seed=st.integers(0, 2**32 - 1))
def test_drawn_supports_are_unique_of_the_right_degree_in_their_pool_and_independent_on_paths(data, nodes, seed):
    parent = [data.draw(st.integers(-1, node - 1)) for node in range(nodes)]
    degree = [data.draw(st.integers(1, 3)) for _ in range(nodes)]
    start = [data.draw(st.sampled_from([0, 3, 20])) for _ in range(nodes)]
    pools = [range(first, first + 9) for first in start]
    supports = draw_supports(parent, degree, pools, np.random.default_rng(seed))
    assert len(set(supports)) == nodes
    assert [len(set(support)) for support in supports] == degree
    assert all(set(support) <= set(pool) for support, pool in zip(supports, pools, strict=True))
    for node in range(nodes):
        path = path_to(parent, node)
        assert gf2_rank(as_rows([supports[above] for above in path], 29)) == len(path)
    assert supports == draw_supports(parent, degree, pools, np.random.default_rng(seed))


@settings(deadline=None)
@given(masks=st.lists(st.integers(1, 63), max_size=6), asked=st.integers(0, 63))
def test_a_mask_reduces_to_zero_exactly_if_it_lies_in_the_span(masks, asked):
    span, basis = {0}, []
    for mask in masks:
        rest = reduce_mask(mask, basis)
        assert (rest == 0) == (mask in span)
        span |= {inside ^ mask for inside in span}
        basis = sorted([*basis, rest], reverse=True) if rest else basis
    assert (reduce_mask(asked, basis) == 0) == (asked in span)


def test_a_mask_has_a_bit_for_each_sensor():
    assert mask_of((0, 3, 70)) == 1 + 8 + 2**70


def test_every_pair_of_four_sensors_is_dealt_to_two_spanning_paths():
    # All six pairs are needed and each path of three must span: a greedy draw may fail and has to start anew.
    for seed in range(20):
        supports = draw_supports([-1, 0, 1, -1, 3, 4], [2] * 6, [range(4)] * 6, np.random.default_rng(seed))
        assert sorted(supports) == list(combinations(range(4), 2))
        assert gf2_rank(as_rows(supports[:3], 4)) == gf2_rank(as_rows(supports[3:], 4)) == 3


@pytest.mark.parametrize(
    ("wanted", "degree", "sensors", "message"),
    [
        (3000, 2, 16, "3000 supports of degree 2 do not fit into 16 sensors, which have 120; "
                      "ask for at most 120, or for at least 78 sensors"),  # 78·77/2 = 3003, 77·76/2 = 2926
        (5, 1, 4, "5 supports of degree 1 do not fit into 4 sensors, which have 4; "
                  "ask for at most 4, or for at least 5 sensors"),
        (11, 3, 5, "11 supports of degree 3 do not fit into 5 sensors, which have 10; "
                   "ask for at most 10, or for at least 6 sensors"),
        (1, 4, 3, "1 supports of degree 4 do not fit into 3 sensors, which have 0; "
                  "ask for at most 0, or for at least 4 sensors"),
    ],
)  # fmt: skip
def test_more_supports_than_there_are_is_refused_with_the_count_that_fits(wanted, degree, sensors, message):
    with pytest.raises(InvalidConfig) as refused:
        draw_supports([-1] * wanted, [degree] * wanted, [range(sensors)] * wanted, np.random.default_rng(0))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("degree", "sensors"), [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5), (2, 2), (1, 1), (3, 6), (4, 6), (5, 6), (6, 6)]
)
def test_the_longest_independent_chain_is_drawn_and_the_next_longer_one_is_refused(degree, sensors):
    longest = gf2_rank(as_rows(list(combinations(range(sensors), degree)), sensors))

    def drawn(length):
        pools = [range(sensors)] * length
        return draw_supports(list(range(-1, length - 1)), [degree] * length, pools, np.random.default_rng(0))

    assert gf2_rank(as_rows(drawn(longest), sensors)) == longest
    with pytest.raises(InvalidConfig, match=rf"{longest + 1} supports of degree {degree} .* {sensors} sensors"):
        drawn(longest + 1)


def test_a_chain_too_deep_for_a_large_pool_is_refused_at_once():
    begun = time.process_time()
    with pytest.raises(InvalidConfig, match=r"path of 40 supports of degree 2 .* 40 sensors, which allow 39"):
        draw_supports(list(range(-1, 39)), [2] * 40, [range(40)] * 40, np.random.default_rng(0))
    assert time.process_time() - begun < 1


def test_a_chain_that_only_mixed_degrees_make_dependent_is_refused():
    # {0}, {1} and {0, 1}: each degree alone would fit.
    with pytest.raises(InvalidConfig, match=r"no assignment of 3 independent supports .* more than 2 sensors"):
        draw_supports([-1, 0, 1], [1, 1, 2], [range(2)] * 3, np.random.default_rng(0))
