"""Communities of signed fingerprints on fields whose communities are known."""

import numpy as np
import pytest

from quantascope.discovery import factorize_fingerprints
from quantascope.discovery.fingerprints import _neighbour_graph, communities, fingerprints
from quantascope.discovery.nulls.clusterings import dominant_factor
from quantascope.discovery.score import adjusted_mutual_information, best_match_f1, supports_of
from quantascope.runs.errors import InvalidConfig


def signed_field(rng, units=6, each=30, intervals=80, noise=1.0):
    """Events of a unit follow its moves with either sign; all are helped when the unit is acquired."""
    unit = np.repeat(np.arange(units), each)
    moves, sign = rng.normal(size=(units, intervals)), rng.choice([-1, 1], units * each)
    acquired = np.eye(intervals)[rng.integers(0, intervals, units)]
    field = sign[:, None] * moves[unit] + 2 * acquired[unit] + noise * rng.normal(size=(len(unit), intervals))
    return unit, field


def test_units_are_found_with_their_number_though_half_of_their_events_are_hurt():
    rng = np.random.default_rng(0)
    unit, field = signed_field(rng)
    found = factorize_fingerprints(field[None])
    assert len(found) == 6
    assert best_match_f1(found.supports, supports_of(unit)) == 1
    assert adjusted_mutual_information(dominant_factor(found), unit) == pytest.approx(1)


def test_the_layer_that_tells_the_units_apart_is_chosen():
    rng = np.random.default_rng(1)
    _, field = signed_field(rng)
    found = factorize_fingerprints(np.stack([rng.normal(size=field.shape), field, rng.normal(size=field.shape)]))
    assert set(found.layer) == {1}


def test_units_that_no_layer_tells_apart_alone_are_found_in_all_together():
    rng = np.random.default_rng(6)
    first, field = signed_field(rng, units=2, each=90, noise=0.5)
    second = rng.permutation(first)
    _, other = signed_field(rng, units=2, each=90, noise=0.5)
    layers = np.stack([field, other[np.argsort(np.argsort(second, kind="stable"))]])
    found = factorize_fingerprints(layers)
    units = 2 * first + second
    assert all(len(np.unique(units[support])) == 1 for support in found.supports)
    assert set(found.layer) == {0, 1}
    for layer, support, curve in zip(found.layer, found.supports, found.curves, strict=True):
        np.testing.assert_allclose(curve, np.maximum(0, layers[layer][support].mean(0)))


def test_a_layer_without_priority_is_left_out():
    unit, field = signed_field(np.random.default_rng(7))
    found = factorize_fingerprints(np.stack([np.zeros_like(field), field]))
    assert set(found.layer) == {1}
    assert adjusted_mutual_information(dominant_factor(found), unit) == pytest.approx(1)


def test_steep_intervals_do_not_outweigh_the_others():
    rng = np.random.default_rng(8)
    unit, field = signed_field(rng, intervals=200)
    steep = field * np.where(np.arange(200) < 4, 100, 1)
    compressed, signs, plain = (factorize_fingerprints(steep[None], power=power) for power in (0.5, 0.0, 1.0))
    scores = [adjusted_mutual_information(dominant_factor(one), unit) for one in (compressed, signs, plain)]
    assert scores[1] > 0.95
    assert scores[1] > scores[0] > scores[2]


def test_a_power_that_does_not_compress_is_refused():
    with pytest.raises(InvalidConfig, match="is out of range"):
        factorize_fingerprints(np.ones((1, 40, 3)), power=2.0)


def test_a_layer_of_few_dimensions_does_not_pass_for_one_with_units():
    rng = np.random.default_rng(5)
    _, field = signed_field(rng, noise=1.5)
    thin = rng.normal(size=(len(field), 2)) @ rng.normal(size=(2, field.shape[1]))
    assert set(factorize_fingerprints(np.stack([thin, field])).layer) == {1}


def test_curves_and_shares_are_those_of_the_mean_over_a_community():
    rng = np.random.default_rng(2)
    _, field = signed_field(rng)
    found = factorize_fingerprints(field[None])
    for support, curve, share in zip(found.supports, found.curves, found.explained, strict=True):
        np.testing.assert_allclose(curve, np.maximum(0, field[support].mean(0)))
        removed = (field[support] ** 2).sum() - ((field[support] - curve) ** 2).sum()
        assert share == pytest.approx(removed / (field**2).sum())
    assert (np.diff(found.explained) <= 0).all()


def test_each_event_is_joined_to_its_nearest_neighbours_up_to_sign():
    rng = np.random.default_rng(3)
    prints = fingerprints(rng.normal(size=(40, 15)), 0.5)
    np.testing.assert_allclose(np.linalg.norm(prints, axis=1), 1)
    similarity = np.abs(prints @ prints.T)
    np.fill_diagonal(similarity, 0)
    expected = np.zeros_like(similarity)
    for event, row in enumerate(similarity):
        near = np.argsort(-row)[:4]
        expected[event, near] = row[near]
    np.testing.assert_allclose(_neighbour_graph(prints, 4).toarray(), (expected + expected.T) / 2)


def test_events_without_priority_are_in_no_community():
    unit, field = signed_field(np.random.default_rng(4))
    field[:5] = 0
    labels, _ = communities(field)
    np.testing.assert_array_equal(labels[:5], -1)
    assert adjusted_mutual_information(labels[5:], unit[5:]) == pytest.approx(1)


def test_too_few_events_are_refused():
    with pytest.raises(InvalidConfig, match="10 events with priority are too few for 10 neighbours"):
        factorize_fingerprints(np.ones((1, 10, 3)))
