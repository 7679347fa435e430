"""Parities whose units are known: half of a unit teaches the other half, half of a random set does not."""

import numpy as np
import pytest

from quantascope.claims.transfer_runs import random_like
from quantascope.discovery.transfer import Subject, diagonality, plan, run_trials
from quantascope.models import MLPConfig
from quantascope.sources.parity_rows import ParityRowsConfig, parity_rows
from quantascope.tasks.hsp import FlatFamily
from quantascope.training import OptimizerConfig, TrainingConfig


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    rows = parity_rows(
        ParityRowsConfig(
            family=FlatFamily(tasks=4, pool=6, distractors=0, exponent=0.0),
            rows=512,
            model=MLPConfig(width=32),
            training=TrainingConfig(
                steps=500, evaluate_every=25, optimizer=OptimizerConfig(name="sgd", learning_rate=0.5)
            ),
        )
    )
    each, rng = np.arange(512), np.random.default_rng(0)
    contexts = np.stack([rows.label, np.zeros_like(rows.label)])
    trials = [
        *plan("units", rows.units[:3], each),
        *plan("random", [random_like(own, rows.label, rng) for own in rows.units[:3]], each),
    ]
    return run_trials(
        rows.retrainable,
        trials,
        tmp_path_factory.mktemp("rows"),
        subject_of=lambda base: Subject(base, contexts, 0, each),
    )


def test_every_task_is_learned(found):
    assert found.subject.base.losses[:, -1].mean() < 0.1


def test_half_of_a_unit_teaches_the_other_half(found):
    for response in found.of("units"):
        assert response.transfer > 0.01
        assert response.shift < response.control_shift
        assert response.predicted < 0 < response.predicted_control


def test_half_of_a_random_set_teaches_nothing(found):
    units, random = (np.array([one.transfer for one in found.of(kind)]) for kind in ("units", "random"))
    assert np.abs(random).max() < units.min() / 2


def test_units_respond_most_to_themselves(found):
    beyond, first = diagonality(found.matrix("units"))
    assert (beyond > 0.01, first) == (True, 1)


def test_the_first_order_estimate_tells_units_from_random_sets(found):
    units, random = (min(one.estimated_transfer for one in found.of(kind)) for kind in ("units", "random"))
    assert units > random
