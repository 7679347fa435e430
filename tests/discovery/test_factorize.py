"""The greedy binary-temporal factorization against the paper's rules written out event by event."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quantascope.discovery import Factors, PriorityField, assign, explained_share, factorize, negative_mass
from quantascope.discovery.factorize import best_scale, leading_curve
from quantascope.runs.errors import InvalidConfig


def plain_support(residual, curve):
    return np.array([2 * float(row @ curve) > float(curve @ curve) for row in residual])


def plain_error(residual, support, curve):
    return sum(float(((row - entered * curve) ** 2).sum()) for row, entered in zip(residual, support, strict=True))


def plain_candidate(residual, curve):
    """One start of the paper's alternation; None if its support empties."""
    support = None
    for _ in range(40):
        entered = plain_support(residual, curve)
        if not entered.any():
            return None
        updated = np.maximum(0, residual[entered].mean(0))
        if support is not None and (entered == support).all() and (updated == curve).all():
            break
        support, curve = entered, updated
    return plain_support(residual, curve), curve


def plain_factorize(field, threshold, most, layer=0, seed=0, starts="scaled"):
    """The paper's procedure for one layer, one start and one event at a time."""
    scaled = plain_scale if starts == "scaled" else lambda residual, curve: curve
    residual, found = field.astype(np.float64), []
    original = (residual**2).sum()
    for number in range(most):
        vector = np.linalg.svd(residual)[2][0]
        of_start = [seed, layer, number] if starts == "scaled" else 104_729 + 1_009 * number
        random = np.random.default_rng(of_start).random(field.shape[1])
        curves = [np.maximum(0, residual.mean(0))]
        curves += [scaled(residual, np.maximum(0, one)) for one in signed(vector)]
        curves.append(scaled(residual, random))
        candidates = [one for curve in curves if (one := plain_candidate(residual, curve)) is not None]
        errors = [plain_error(residual, *one) for one in candidates]
        if not errors or (residual**2).sum() - min(errors) < threshold * original:
            break
        support, curve = candidates[int(np.argmin(errors))]
        residual = residual - np.outer(support, curve)
        found.append((support, curve))
    return found


def signed(vector):
    vector = vector * np.sign(vector[np.abs(vector).argmax()])
    return vector, -vector


def plain_scale(residual, curve):
    """The best scale by trying the best scale of every set of largest projections."""
    if not curve.any():
        return curve
    unit = curve / np.linalg.norm(curve)
    projection = np.sort(residual @ unit)[::-1]
    scales = [max(0.0, projection[:k].mean()) for k in range(1, len(projection) + 1)]
    removed = [np.maximum(2 * scale * projection - scale**2, 0).sum() for scale in scales]
    return unit * scales[int(np.argmax(removed))]


def mixture(seed, events=60, intervals=12, factors=4, noise=0.3):
    rng = np.random.default_rng(seed)
    supports = rng.random((events, factors)) < 0.4
    curves = rng.random((factors, intervals)) * (rng.random((factors, intervals)) < 0.5)
    return supports @ curves + noise * rng.normal(size=(events, intervals))


@pytest.mark.parametrize("starts", ["scaled", "paper"])
@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_paper_s_procedure_written_out(seed, starts):
    field = mixture(seed)
    found = factorize(field[None], threshold=0.02, most=6, starts=starts)
    expected = plain_factorize(field, 0.02, 6, starts=starts)
    assert len(found) == len(expected) > 0
    for index, (support, curve) in enumerate(expected):
        np.testing.assert_array_equal(found.supports[index], support)
        np.testing.assert_allclose(found.curves[index], curve, atol=1e-12)


def test_it_is_the_paper_s_procedure_with_more_intervals_than_events():
    field = mixture(3, events=12, intervals=40)
    found, expected = factorize(field[None], threshold=0.02, most=6), plain_factorize(field, 0.02, 6)
    assert len(found) == len(expected) > 0
    np.testing.assert_array_equal(found.supports, [support for support, _ in expected])


@given(seed=st.integers(0, 1000), scale=st.sampled_from([2.0**-40, 0.25, 2.0**30]))
@settings(max_examples=20, deadline=None)
def test_a_field_in_other_units_has_the_same_supports(seed, scale):
    field = mixture(seed)[None]
    found, scaled = factorize(field), factorize(scale * field)
    np.testing.assert_array_equal(scaled.supports, found.supports)
    np.testing.assert_array_equal(scaled.curves, scale * found.curves)


def test_the_scale_of_a_start_is_the_best_one():
    residual, curve = mixture(5), np.random.default_rng(0).random(12)
    best = np.linalg.norm(best_scale(residual, curve[None])[0])
    projection = residual @ (curve / np.linalg.norm(curve))

    def removed(scale):
        return np.maximum(2 * scale * projection - scale**2, 0).sum()

    assert removed(best) >= max(removed(scale) for scale in np.linspace(0, 3 * best, 2001)) - 1e-9


def test_the_leading_curve_is_the_first_right_singular_vector():
    for shape in ((30, 8), (8, 30)):
        field = np.random.default_rng(1).normal(size=shape)
        expected = np.linalg.svd(field)[2][0]
        np.testing.assert_allclose(np.abs(leading_curve(field)), np.abs(expected), atol=1e-10)


def test_layers_are_factored_separately_and_the_shares_of_a_layer_add_up():
    field = np.stack([mixture(1), 5 * mixture(2)])
    found = factorize(field)
    for layer in (0, 1):
        np.testing.assert_allclose(found.of_layer(layer).explained.sum(), explained_share(found, field)[layer])
    alone = factorize(field[:1])
    np.testing.assert_array_equal(found.of_layer(0).supports, alone.supports)


def test_every_factor_clears_the_threshold_of_the_original_error_and_the_next_would_not():
    field = mixture(7)[None]
    most = factorize(field, threshold=1e-6, most=10).explained
    for threshold in (0.01, 0.03, 0.05):
        found = factorize(field, threshold=threshold)
        assert (found.explained >= threshold).all()
        assert most[len(found)] < threshold


def test_assigning_the_events_that_were_fitted_gives_their_supports_back():
    field = np.stack([mixture(1), mixture(2)])
    found = factorize(field)
    again = assign(found, field)
    np.testing.assert_array_equal(again.supports, found.supports)
    np.testing.assert_allclose(again.explained, found.explained)


def test_held_out_events_are_assigned_one_by_one_in_component_order():
    found = factorize(mixture(1)[None])
    held_out = mixture(2, events=30)
    assigned = assign(found, held_out[None])
    for event, row in enumerate(held_out):
        residual = row.copy()
        for factor, curve in enumerate(found.curves):
            entered = 2 * residual @ curve > curve @ curve
            assert assigned.supports[factor, event] == entered
            residual -= entered * curve
    np.testing.assert_allclose(assigned.explained.sum(), explained_share(assigned, held_out[None])[0])


def test_a_field_that_only_hurts_or_is_zero_has_no_factors():
    for field in (-np.ones((1, 4, 3)), np.zeros((1, 4, 3))):
        found = factorize(field)
        assert len(found) == 0
        assert found.supports.shape == (0, 4)
        assert len(assign(found, field)) == 0
    np.testing.assert_array_equal(negative_mass(np.stack([-np.ones((4, 3)), np.zeros((4, 3))])), [1, 0])


def test_the_field_itself_is_left_as_it_was():
    field = mixture(1)[None]
    before = field.copy()
    assign(factorize(field), field)
    np.testing.assert_array_equal(field, before)


def test_single_precision_fields_are_factored_in_double_precision():
    field = mixture(1)[None].astype(np.float32)
    np.testing.assert_array_equal(factorize(field).curves, factorize(field.astype(np.float64)).curves)


def test_bad_fields_are_refused_by_name():
    field = mixture(1)[None]
    broken = field.copy()
    broken[0, 3, 5] = np.inf
    with pytest.raises(InvalidConfig, match="event 3 in layer 0, interval 5, is inf"):
        factorize(broken)
    with pytest.raises(InvalidConfig, match=r"shape \(1, 0, 12\) is empty"):
        factorize(field[:, :0])
    with pytest.raises(InvalidConfig, match="threshold 3 is not a share"):
        factorize(field, threshold=3.0)
    with pytest.raises(InvalidConfig, match="have 12 intervals but the priority field has 11"):
        assign(factorize(field), field[:, :, :11])
    second = Factors(
        layer=np.array([1]), supports=np.ones((1, 60), bool), curves=np.ones((1, 12)), explained=np.ones(1)
    )
    with pytest.raises(InvalidConfig, match="layer 1 but the priority field has 1 layers"):
        assign(second, field)


def field_of(values, losses, rule="path"):
    return PriorityField(
        rule, ("only",), np.arange(values.shape[2] + 1), values, np.zeros(values.shape[1:]), losses
    )


def test_a_field_has_the_factors_of_its_values():
    values = np.array([[[2.0, 0.0], [2.0, 0.0], [0.0, 1.0]]])
    whole = np.concatenate([np.full((3, 1), 3.0), 3 - values[0].cumsum(1)], 1)
    found, expected = factorize(field_of(values, whole)), factorize(values)
    np.testing.assert_array_equal(found.supports, expected.supports)
    np.testing.assert_array_equal(found.curves, expected.curves)


@pytest.mark.parametrize(
    ("rule", "remedy"), [("gradient", "use the path rule, or check the"), ("path", "quanta; check the")]
)
def test_the_factors_of_an_unreliable_field_are_warned_of_once(rule, remedy):
    values = np.array([[[2.0, 0.0], [2.0, 0.0], [0.0, 1.0]]])
    risen = 3 + 10 * np.concatenate([np.zeros((3, 1)), values[0].cumsum(1)], 1)
    with pytest.warns(
        UserWarning, match=rf"the {rule} rule accounts for -0\.10 .* by event: .*{remedy}"
    ) as warned:
        factorize(field_of(values, risen, rule))
    assert len(warned) == 1
