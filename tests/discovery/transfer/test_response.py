"""Effects, shifts and matrices on curves whose answer is known."""

import numpy as np
import pytest

from quantascope.discovery.transfer.response import Subject, diagonality, response_matrix, shift
from quantascope.discovery.transfer.weighting import Halves
from quantascope.sources.retraining import EventCurves

STEPS = np.arange(0, 2001, 10)


def falling(times):
    """Losses that fall exponentially from one, each with its own time."""
    return EventCurves(STEPS, np.exp(-STEPS / np.asarray(times, dtype=float)[:, None]))


def test_a_curve_twice_as_fast_is_acquired_log_two_earlier():
    base, fast = falling([100.0, 300.0]), falling([50.0, 300.0])
    assert shift(base, fast, np.array([1.0, 0.0])) == pytest.approx(-np.log(2), abs=0.01)
    assert shift(base, fast, np.array([0.0, 1.0])) == 0


def test_what_is_never_acquired_has_no_shift():
    assert np.isnan(shift(falling([100.0]), falling([1e9]), np.array([1.0])))


def test_the_response_compares_the_asked_half_with_its_matched_controls():
    base, changed = falling([100.0] * 6), falling([50, 60, 80, 100, 120, 120])
    events = np.arange(6)
    contexts = np.stack([np.array([0, 1, 0, 0, 1, 1]), np.zeros(6, dtype=int)])
    subject = Subject(base, contexts, 0, events)
    cut = Halves(events == 0, (events == 1) | (events == 2))
    found = subject.respond(cut, "raised", changed, subject.effects(changed))
    effect = (base.losses - changed.losses).mean(1)
    assert found.asked == pytest.approx(effect[[1, 2]].mean())
    assert found.control == pytest.approx((effect[[4, 5]].mean() + effect[3]) / 2)
    assert found.transfer == found.estimated_transfer > 0
    assert found.estimate_correlation == pytest.approx(1)
    assert (found.exact, found.size) == (1, 3)
    assert found.word_transfer == pytest.approx(found.transfer)
    # All losses fall alike, so every event is a control of like curve, and only the word decides.
    assert (found.alike, found.exact_transfer, found.imbalance) == (1, found.word_transfer, pytest.approx(0))
    assert found.curve_transfer == pytest.approx(found.transfer)
    lowered = subject.respond(cut, "lowered", changed, effect)
    assert lowered.transfer == pytest.approx(-found.transfer)


def test_the_imbalance_is_what_more_the_asked_events_had_to_gain():
    base, changed = falling([100.0, 100.0, 400.0, 100.0]), falling([50.0, 60.0, 200.0, 80.0])
    events = np.arange(4)
    subject = Subject(base, np.zeros((1, 4), dtype=int), 0, events)
    cut = Halves(events == 0, (events == 1) | (events == 2))
    found = subject.respond(cut, "raised", changed, np.zeros(4))
    effect = (base.losses - changed.losses).mean(1)
    assert found.alike == 0.5
    assert found.curve_transfer == pytest.approx(effect[1] - effect[3])
    falls = base.losses[:, 0] - base.losses[:, -1]
    assert found.imbalance == pytest.approx(falls[[1, 2]].mean() - falls[3])
    assert found.curve_imbalance == pytest.approx(falls[1] - falls[3])


def test_controls_are_of_no_input_of_which_an_event_was_taught():
    events = np.arange(4)
    contexts = np.zeros((1, 4), dtype=int)
    subject = Subject(falling([100.0] * 4), contexts, 0, np.array([0, 0, 1, 2]))
    assert np.flatnonzero(subject.pool(Halves(events == 0, events == 2))).tolist() == [3]


def test_the_response_matrix_asks_other_sets_only_outside_the_taught_one():
    cuts = [Halves(np.arange(6) == 0, np.arange(6) == 1), Halves(np.arange(6) == 2, np.isin(np.arange(6), [1, 3]))]
    effects = [np.array([9.0, 1, 2, 4, 0, 0]), np.array([5.0, 1, 9, 3, 0, 0])]
    matrix = response_matrix(cuts, effects)
    assert matrix.tolist() == [[1, 3], [5, 2]]
    assert diagonality(matrix) == (-2.5, 0)
    assert np.isnan(diagonality(matrix[:1, :1])).all()
