"""Controls against brute force."""

import numpy as np
import pytest

from quantascope.discovery.transfer.matching import alike_in_loss, event_contexts, match_by_context, match_by_curve
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.number_naming import naming_events


def brute_force(event, pool, contexts):
    for level, context in enumerate(contexts):
        found = [other for other in np.flatnonzero(pool) if context[other] == context[event]]
        if found:
            return found, level
    raise AssertionError


def test_controls_are_those_of_a_search_event_by_event(rng):
    contexts = np.stack([rng.integers(0, 30, 80), rng.integers(0, 30, 80), np.zeros(80, dtype=int)])
    asked = rng.random(80) < 0.3
    pool = ~asked & (rng.random(80) < 0.5)
    curves, values = rng.normal(size=(80, 5)), rng.normal(size=80)
    by_context = match_by_context(asked, pool, contexts)
    by_curve = match_by_curve(asked, pool, contexts, curves, nearest=2)
    means, nearest_means = [], []
    for row, event in enumerate(np.flatnonzero(asked)):
        found, level = brute_force(event, pool, contexts)
        assert set(np.flatnonzero(by_context.weights[row])) == set(found)
        assert by_context.level[row] == level
        nearest = sorted(found, key=lambda other: np.linalg.norm(curves[other] - curves[event]))[:2]
        assert set(np.flatnonzero(by_curve.weights[row])) == set(nearest)
        means.append(values[found].mean())
        nearest_means.append(values[nearest].mean())
    assert set(by_context.level) == {0, 1, 2}
    assert by_context.mean(values) == pytest.approx(np.mean(means))
    assert by_curve.mean(values) == pytest.approx(np.mean(nearest_means))


def test_a_control_is_alike_if_its_mean_loss_is_within_a_tenth_of_a_nat():
    curves = np.array([[2.0, 0.0], [1.1, 1.1], [1.2, 1.06], [0.0, 2.1]])
    asked = np.array([True, True, False, False])
    found = match_by_curve(asked, ~asked, np.zeros((1, 4), dtype=int), curves, nearest=1)
    assert np.flatnonzero(found.weights.any(0)).tolist() == [2]
    assert alike_in_loss(found, asked, curves).tolist() == [False, True]


def test_an_empty_pool_is_refused():
    with pytest.raises(InvalidConfig, match="1 events have no control"):
        match_by_context(np.array([True, False]), np.zeros(2, dtype=bool), np.zeros((1, 2), dtype=int))


def test_contexts_of_number_naming_are_word_length_and_position():
    # 21: twenty one END; 31: thirty one END; 121: one hundred twenty one END
    contexts = event_contexts(naming_events([21, 31, 121]))
    one_of_21, one_of_31, first_one_of_121, last_one_of_121 = 1, 4, 6, 9
    assert contexts[0, one_of_21] == contexts[0, one_of_31]
    assert len({*contexts[0, [one_of_21, first_one_of_121, last_one_of_121]]}) == 3
    assert contexts[1, first_one_of_121] == contexts[1, last_one_of_121] != contexts[1, one_of_21]
    assert len({*contexts[2, [one_of_21, one_of_31, first_one_of_121, last_one_of_121]]}) == 1
    assert contexts[3, 0] == contexts[3, 3] != contexts[3, 6]
    assert set(contexts[4]) == {0}
