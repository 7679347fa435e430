"""Packet complexity against the definition written out over real MLP tensors."""

import numpy as np
import pytest
import torch

from quantascope.discovery import packet_complexity
from quantascope.models.hidden_units import hidden_unit_groups
from quantascope.runs.errors import InvalidConfig


def test_packets_are_grouped_by_hidden_unit_and_output_bias():
    rng = np.random.default_rng(0)
    intervals, inputs, hidden, outputs = 5, 3, 4, 2
    shapes = [(hidden, inputs), (hidden,), (outputs, hidden), (outputs,)]
    updates = [[torch.from_numpy(rng.normal(size=shape)) for shape in shapes] for _ in range(intervals)]
    curves = rng.random((3, intervals))
    expected = []
    for curve in curves / curves.sum(1, keepdims=True):
        packet = [
            sum(weight * update[part] for weight, update in zip(curve, updates, strict=True)) for part in range(4)
        ]
        into, bias, out, last = packet
        energy = [
            float(into[unit].square().sum() + bias[unit] ** 2 + out[:, unit].square().sum())
            for unit in range(hidden)
        ]
        energy.append(float(last.square().sum()))
        expected.append(sum(energy) ** 2 / sum(one**2 for one in energy))
    flat = np.stack([torch.cat([part.flatten() for part in update]).numpy() for update in updates])
    groups = hidden_unit_groups(inputs=inputs, hidden=hidden, outputs=outputs)
    np.testing.assert_allclose(packet_complexity(curves, flat, groups), expected)


def test_complexity_lies_between_one_and_the_number_of_groups_and_ignores_units():
    rng = np.random.default_rng(1)
    groups = hidden_unit_groups(inputs=32, hidden=64, outputs=32)
    curves, updates = rng.random((6, 10)), rng.normal(size=(10, len(groups)))
    found = packet_complexity(curves, updates, groups)
    assert ((found > 1) & (found <= 65)).all()
    np.testing.assert_allclose(packet_complexity(7 * curves, 1e-9 * updates, groups), found)


def test_parameters_that_never_moved_have_no_complexity():
    with pytest.raises(InvalidConfig, match="packet 0 has no energy"):
        packet_complexity(np.ones((1, 2)), np.zeros((2, 3)), np.array([0, 1, 1]))
