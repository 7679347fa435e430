"""Nested quadrature against polynomials of known integral, and against Gauss-Kronrod's published rule."""

import numpy as np
import pytest

from quantascope.discovery.quadrature import COUNTS, nodes


@pytest.mark.parametrize(("rule", "degree"), [(0, 3), (1, 7), (2, 17), (3, 35), (4, 71)])
def test_a_rule_is_exact_for_polynomials_up_to_its_degree(rule, degree):
    places, weights = map(np.array, nodes(rule))
    assert len(places) == COUNTS[rule]
    assert weights.min() > 0
    assert places.min() > 0
    assert places.max() < 1
    powers = np.arange(degree + 1)
    np.testing.assert_allclose(weights @ places[:, None] ** powers, 1 / (powers + 1), rtol=1e-10)
    beyond = 2 * places - 1
    assert abs(weights @ np.polynomial.legendre.legval(beyond, np.eye(degree + 2)[-1])) > 1e-6


def test_every_rule_keeps_the_places_of_the_one_before_in_their_order():
    for rule in range(1, len(COUNTS)):
        assert nodes(rule)[0][: COUNTS[rule - 1]] == nodes(rule - 1)[0]


def test_five_nodes_are_kronrods_extension_of_gauss_of_two():
    outer, inner = np.sqrt(6 / 7), 1 / np.sqrt(3)
    expected = {-outer: 98, -inner: 243, 0.0: 308, inner: 243, outer: 98}
    places, weights = map(np.array, nodes(1))
    order = places.argsort()
    np.testing.assert_allclose(2 * places[order] - 1, sorted(expected), atol=1e-12)
    np.testing.assert_allclose(weights[order] * 990, [expected[key] for key in sorted(expected)], rtol=1e-12)
