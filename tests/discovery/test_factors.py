"""Factors: what is derived from supports and curves, and how they are kept."""

import numpy as np
import pytest

from quantascope.discovery import Factors
from quantascope.runs.artefact import write_tensors
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch


def two_factors(**changes):
    values = {
        "layer": np.array([0, 1]),
        "supports": np.array([[True, True, False, False], [False, False, False, True]]),
        "curves": np.array([[1.0, 1.0, 2.0], [0.0, 0.0, 3.0]]),
        "explained": np.array([0.5, 0.25]),
    }
    return Factors(**{**values, **changes})


def test_times_demand_and_cumulative_curves_by_hand():
    factors = two_factors()
    np.testing.assert_array_equal(factors.demand, [0.5, 0.25])
    np.testing.assert_array_equal(factors.cumulative, [[0.25, 0.5, 1.0], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(factors.acquisition_interval, [1, 2])


def test_the_reconstruction_of_a_layer_adds_its_curves_over_their_supports():
    both = two_factors(layer=np.array([0, 0]), supports=np.array([[True, True], [False, True]]))
    np.testing.assert_array_equal(both.reconstruction(0), [[1, 1, 2], [1, 1, 5]])
    np.testing.assert_array_equal(both.reconstruction(1), np.zeros((2, 3)))


def test_factors_are_the_same_after_a_round_trip_through_a_file(tmp_path):
    factors = two_factors()
    factors.save(tmp_path / "factors.safetensors", made_by="abc")
    again = Factors.load(tmp_path / "factors.safetensors", made_by="abc")
    for name in ("layer", "supports", "curves", "explained"):
        np.testing.assert_array_equal(getattr(again, name), getattr(factors, name))
    with pytest.raises(RunMismatch, match="made by config abc, not by xyz"):
        Factors.load(tmp_path / "factors.safetensors", made_by="xyz")


def test_a_file_of_other_tensors_is_not_factors(tmp_path):
    write_tensors(tmp_path / "other.safetensors", {}, made_by="abc")
    with pytest.raises(DamagedArtefact, match="no tensor 'curves'; find them again"):
        Factors.load(tmp_path / "other.safetensors", made_by="abc")


def test_factors_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        two_factors().curves[0, 0] = 7


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layer": np.array([0, -1])}, "layer -1 of a factor is negative"),
        ({"curves": np.array([[1.0, 2.0, 3.0], [1.0, -1.0, 0.0]])}, "curve 1 of the factors runs from -1 to 1"),
        (
            {"curves": np.array([[1.0, np.nan, 3.0], [1.0, 1.0, 0.0]])},
            "curve 0 of the factors runs from nan to nan",
        ),
        ({"curves": np.zeros((2, 3))}, "curve 0 of the factors runs from 0 to 0"),
    ],
)
def test_impossible_factors_are_refused_by_name(changes, message):
    with pytest.raises(InvalidConfig, match=message):
        two_factors(**changes)
