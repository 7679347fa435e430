import numpy as np
import pytest

from quantascope.runs.errors import InvalidConfig
from quantascope.scaling import log_error
from quantascope.scaling.joint import AdditiveLaw, Cells, JointLaw, fit_additive, fit_joint, fit_separately

RESOURCES = np.array(
    [(p, d, s) for p in (1e3, 3e3, 1e4, 3e4) for d in (1e4, 1e5, np.inf) for s in (1e3, 3e3, 1e4, 3e4)]
)
PLANTED = JointLaw(np.array([0.7, 0.5, 0.6]), np.array([-2.8, -2.5, -2.2]), 3.0)


def cells(count: np.ndarray, loss: np.ndarray) -> Cells:
    return Cells(*RESOURCES.T, count, loss)


def test_the_joint_law_is_found_again_in_counts_that_it_made(rng):
    count = PLANTED.count(RESOURCES) * np.exp(rng.normal(0, 0.01, len(RESOURCES)))
    law = fit_joint(cells(count, 1 / count))
    assert law.exponent == pytest.approx(PLANTED.exponent, abs=0.05)
    assert law.sharpness == pytest.approx(PLANTED.sharpness, rel=0.15)
    assert log_error(law.count(RESOURCES), PLANTED.count(RESOURCES)) < 0.01


def test_the_scarcest_resource_bounds_the_prefix_and_endless_data_do_not():
    sharp = JointLaw(PLANTED.exponent, PLANTED.log_scale, 20.0)
    assert sharp.count(RESOURCES) == pytest.approx(np.exp(PLANTED.bounds(RESOURCES).min(1)), rel=0.06)
    endless = np.array([[1e3, np.inf, 1e9]])
    assert PLANTED.count(endless) == pytest.approx(np.exp(PLANTED.bounds(endless)[0, 0]), rel=1e-3)


def test_the_joint_law_beats_separate_laws_where_two_resources_bind_at_once():
    count = PLANTED.count(RESOURCES)
    every = cells(count, 1 / count)
    joint, separate = fit_joint(every), fit_separately(every)
    assert log_error(joint.count(RESOURCES), count) < 0.2 * log_error(separate.count(RESOURCES), count)


def test_an_additive_loss_is_found_again():
    law = AdditiveLaw(0.05, np.array([3.0, 2.0, 4.0]), np.array([0.3, 0.25, 0.35]))
    loss = law.loss(RESOURCES)
    found = fit_additive(cells(np.ones(len(loss)), loss))
    assert log_error(found.loss(RESOURCES), loss) < 0.01
    endless = np.array([[1e4, np.inf, 1e4]])
    assert found.loss(endless) == pytest.approx(law.loss(endless), rel=0.03)


@pytest.mark.parametrize("column", range(5))
def test_cells_without_a_positive_value_are_refused(column):
    columns = [np.ones(3) for _ in range(5)]
    columns[column][1] = 0.0
    with pytest.raises(InvalidConfig, match="must be positive"):
        Cells(*columns)


def test_a_grid_that_does_not_vary_a_resource_is_refused():
    flat = np.ones(4)
    with pytest.raises(InvalidConfig, match="parameters have fewer than two sizes"):
        fit_separately(Cells(flat, flat, flat, flat, flat))
