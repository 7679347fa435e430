"""What the claims measure, on curves whose answer is known."""

import numpy as np
import pytest

from quantascope.acquisition.learner import HSPLearner, LearningCurves
from quantascope.claims import acquisition_clock, child_parent_order, composed_staircase, flat_acquisition
from quantascope.claims.register import CLAIMS
from quantascope.claims.result import bootstrap_interval, t_interval
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.hsp import (
    ComposedFamily,
    FlatFamily,
    LevelRatio,
    RegularFamily,
    ZipfDemand,
    build_forest,
)
from quantascope.theory import initial_loss
from quantascope.training import History

EVALUATED = np.arange(0, 10_050, 50)


def curves_with(config: HSPLearner, times: np.ndarray, modes: np.ndarray | None = None) -> LearningCurves:
    """Curves of a network that acquires each task at once at the given time."""
    forest = build_forest(config.family)
    known = EVALUATED[:, None] >= times[None, :]
    start = np.array([initial_loss(int(depth)) for depth in forest.depth[forest.tasks]])
    values = {
        "loss": np.where(known, 0.0, start),
        "coefficient": known.astype(float),
        "exact": known,
        "modes": modes if modes is not None else np.zeros((*known.shape, 1)),
    }
    return LearningCurves(config, History(EVALUATED, np.zeros(len(EVALUATED)), values))


def test_a_perfect_clock_gives_perfect_order_and_exponent_one():
    config = flat_acquisition.FlatAcquisition(seeds=(0, 1, 5), varied=(1, 2))
    runs = flat_acquisition.runs(config)
    curves = {name: curves_with(run, 20 / build_forest(run.family).task_probability) for name, run in runs.items()}
    figures = flat_acquisition.measure(config, curves)
    assert figures["acquired_displayed"].values == (64.0,) * 3
    assert figures["spearman_model_seed_1"].values == pytest.approx((-1.0,) * 3, abs=1e-3)
    assert figures["spearman_displayed"].mean == pytest.approx(-1.0, abs=1e-3)
    assert figures["clock_gamma"].mean == pytest.approx(1.0, abs=0.02)
    assert figures["forecast_rank_demand"].mean == pytest.approx(1.0, abs=1e-3)
    assert figures["forecast_error_demand"].mean == pytest.approx(0.0, abs=0.1)
    # A task falls within one evaluation: 10 % to 90 % of it take 40 of 50 steps.
    assert figures["task_breadth"].values == pytest.approx((40.0,) * 3)
    assert figures["last_acquired_step_displayed"].mean == pytest.approx(
        20 / build_forest(FlatFamily()).query.min(), abs=50
    )
    assert figures["last_acquired_step_displayed"].values == figures["all_exact_step_displayed"].values


def test_a_run_that_acquires_nothing_leaves_figures_undefined_instead_of_losing_the_others():
    config = flat_acquisition.FlatAcquisition(seeds=(0, 1), varied=())
    good, bad = flat_acquisition.runs(config).items()
    curves = {
        good[0]: curves_with(good[1], 20 / build_forest(good[1].family).task_probability),
        bad[0]: curves_with(bad[1], np.full(64, np.inf)),
    }
    figures = flat_acquisition.measure(config, curves)
    assert figures["acquired_displayed"].values == (64.0, 0.0)
    for key in ("spearman_displayed", "clock_gamma", "task_breadth", "forecast_error_conditional"):
        assert figures[key].runs == "1 of 2", key


def test_the_runs_are_independent_ones_and_variations_of_the_first():
    assert list(flat_acquisition.runs(CLAIMS["flat-acquisition"].presets["paper"])) == [
        "model-0-ranks-0",
        "model-1-ranks-0",
        "model-2-ranks-0",
        "model-0-ranks-1",
        "model-0-ranks-2",
    ]
    full = flat_acquisition.runs(CLAIMS["flat-acquisition"].presets["full"])
    assert sum(run.model_seed == run.family.rank_seed for run in full.values()) == 9


def test_the_paper_s_trees_have_the_released_defaults_and_one_stream_of_batches():
    two_levels = child_parent_order.runs(CLAIMS["child-parent-order"].presets["paper"])
    assert len(two_levels) == 9
    for label, run in two_levels.items():
        forest = run.forest
        ratio = float(label.split("-")[1])
        assert len(forest.parent) == 48
        child = forest.parent >= 0
        np.testing.assert_allclose(forest.query[child] / forest.query[forest.parent[child]], ratio)
        assert run.data_seed == 1000
    (sixty,) = acquisition_clock.runs(CLAIMS["acquisition-clock"].presets["paper"]).values()
    assert len(sixty.forest.parent) == 60
    assert sixty.forest.sensors == 64
    np.testing.assert_allclose(np.bincount(sixty.forest.depth, sixty.forest.query), 0.25)


def test_the_released_pair_shares_its_start_its_q_model_and_the_panel_it_is_chosen_on():
    (runs,) = CLAIMS["guided-training"].runs(CLAIMS["guided-training"].presets["paper"]).values()
    ce, guided = runs.students["ce"], runs.students["guided"]
    assert set(runs.students) == {"ce", "guided"}
    assert ce == guided.replace({"weight": 0.0})
    assert (guided.routing, guided.drawn_after, guided.best_on) == ("oracle", "teacher", "balanced")
    (compiled,) = CLAIMS["compiled-qmodel"].runs(CLAIMS["compiled-qmodel"].presets["paper"]).values()
    assert runs.every_teacher == compiled.every_teacher == (guided.teacher,)
    rates = [guided.training.schedule.factor(step, 1000) for step in (0, 499, 999)]
    assert rates == pytest.approx([0.999, 0.5, 0.0])
    rates = [guided.teacher.training.schedule.factor(step, 1000) for step in (499, 500, 749, 999)]
    assert rates == pytest.approx([1.0, 0.998, 0.5, 0.0])
    for preset in ("quick", "full"):  # no other preset chooses on an evaluation set
        for claim in CLAIMS.values():
            assert "best_on" not in str(claim.presets[preset].model_dump(mode="json"))


def test_a_staircase_shows_its_crossings_and_its_plateau():
    family = ComposedFamily(tasks=4, shared=2, shared_degree=2, pool=6, distractors=0)
    config = composed_staircase.ComposedStaircase(learner=HSPLearner(family=family), model_seeds=(0,))
    (run,) = composed_staircase.runs(config).values()
    modes = np.zeros((len(EVALUATED), 4, 2))
    private, shared = np.array([100, 200, 300, 400]), np.array([5000, 6000, 5000, 6000])
    modes[:, :, composed_staircase.PRIVATE] = EVALUATED[:, None] >= private
    modes[:, :, composed_staircase.SHARED] = EVALUATED[:, None] >= shared
    curves = curves_with(run, shared.astype(float), modes)
    loss = curves.history.values["loss"]
    loss[:] = np.where(modes[:, :, 0] > 0, 0.0, np.where(modes[:, :, 1] > 0, 0.5, initial_loss(1)))
    figures = composed_staircase.measure(config, {"model-0": curves})
    chosen = int(build_forest(family).task_probability.argmax())
    assert figures["private_crossing_step"].values == (float(private[chosen]),)
    assert figures["shared_crossing_step"].values == (float(shared[chosen]),)
    assert figures["first_exact_step"].values == (float(shared[chosen]),)
    assert figures["plateau_bits"].values == (0.5,)
    assert figures["plateau_bits_all"].values == (0.5,)
    assert figures["modes_acquired"].values == (6.0,)
    assert figures["tasks_exact_best"].values == figures["tasks_exact_final"].values == (4.0,)


@pytest.mark.parametrize(("parents", "children", "share"), [(1000, 2000, 0), (2000, 1000, 24), (2000, 2000, 0)])
def test_child_first_counts_and_reconstructions_follow_the_order(parents, children, share):
    family = RegularFamily(roots=4, depth=1, pool=8, distractors=0, demand=LevelRatio(ratio=5.0))
    config = child_parent_order.ChildParentOrder(
        learner=HSPLearner(family=family), ratios=(5.0,), model_seeds=(0,)
    )
    (run,) = child_parent_order.runs(config).values()
    times = np.where(build_forest(family).parent < 0, parents, children).astype(float)
    figures = child_parent_order.measure(config, {"ratio-5.0-model-0": curves_with(run, times)})
    assert figures["child_first_5"].values == (share,)
    # Tasks fall at once, so the direct basis rebuilds the loss exactly.
    assert figures["direct_error_5"].values == pytest.approx((0.0,), abs=1e-12)
    assert figures["functions_acquired"].values == (12.0,)


def test_the_closed_basis_waits_for_parents():
    family = RegularFamily(roots=4, depth=1, pool=8, distractors=0, demand=LevelRatio(ratio=5.0))
    config = child_parent_order.ChildParentOrder(
        learner=HSPLearner(family=family), ratios=(5.0,), model_seeds=(0,), error_through=2000
    )
    (run,) = child_parent_order.runs(config).values()
    forest = build_forest(family)
    times = np.where(forest.parent < 0, 2000.0, 500.0)
    figures = child_parent_order.measure(config, {"ratio-5.0-model-0": curves_with(run, times)})
    # From step 500 to 2000, most of the window, the children are done but not closed.
    children = forest.query[forest.parent >= 0].sum() * initial_loss(1)
    assert figures["closed_error_5"].mean == pytest.approx(children)
    assert figures["reconstructions_differ_5"].mean == pytest.approx(children)


def test_a_planted_depth_cost_is_found_again():
    family = RegularFamily(roots=4, depth=3, distractors=0, demand=ZipfDemand())
    config = acquisition_clock.AcquisitionClock(learner=HSPLearner(family=family), seeds=(0, 1))
    curves = {}
    for name, run in acquisition_clock.runs(config).items():
        forest = build_forest(run.family)
        curves[name] = curves_with(run, 6 / forest.query * 1.3**forest.depth)
    figures = acquisition_clock.measure(config, curves)
    assert figures["cost_per_level"].mean == pytest.approx(1.3, abs=0.03)
    assert figures["gamma_with_depth"].mean == pytest.approx(1.0, abs=0.03)
    assert figures["r2_with_depth"].mean > figures["r2"].mean


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
@pytest.mark.parametrize("preset", ["quick", "full", "paper"])
def test_every_preset_names_its_runs_and_can_build_them(claim, preset):
    runs = claim.runs(claim.presets[preset])
    assert len({run.hash() for run in runs.values()}) == len(runs)
    if preset != "full" and claim.presets[preset] == claim.presets["full"]:
        return
    for run in {label.rstrip("0123456789"): run for label, run in runs.items()}.values():
        claim.prepare(run)  # refuses what cannot be built; runs that differ by their seed are alike


def test_full_presets_have_at_least_three_runs_of_each_kind():
    assert {name: len(claim.runs(claim.presets["full"])) for name, claim in CLAIMS.items()} == {
        "flat-acquisition": 13,
        "composed-staircase": 5,
        "child-parent-order": 15,
        "acquisition-clock": 5,
        "hsp-demand": 0,
        "parameter-scaling": 9,
        "data-scaling": 9,
        "joint-frontier": 12,
        "finite-size": 0,
        "number-naming-data": 0,
        "recover-quanta": 23,
        "ordering": 5,
        "seed-stability": 5,
        "support-transfer": 18,
        "recovered-qmodel": 8,
        "trusted-qmodel": 8,
        "message-interventions": 3,
        "source-faithfulness": 3,
        "qmodel-frontier": 1,
        "semantics": 8,
        "traces": 8,
        "compiled-qmodel": 8,
        "guided-training": 8,
        "guidance-data-efficiency": 40,
        "guidance-other-programs": 16,
        "guidance-reliability": 130,
        "guidance-real-data": 32,
        "guidance-content": 8,
        "real-inflection": 9,
        "real-spelling": 4,
        "real-code": 4,
    }


def test_intervals_cover_the_mean_and_need_enough_runs():
    values = np.array([1.0, 2.0, 3.0, 4.0])
    for low, high in (t_interval(values), bootstrap_interval(values)):
        assert low < 2.5 < high
    assert t_interval(values[:2]) is bootstrap_interval(values[:1]) is None
    assert t_interval(np.full(3, 2.0)) == bootstrap_interval(np.full(3, 2.0)) == (2.0, 2.0)


def test_the_t_interval_covers_a_known_mean_as_often_as_it_says_and_the_bootstrap_less(rng):
    hits = {t_interval: 0, bootstrap_interval: 0}
    for _ in range(200):
        values = rng.normal(size=5)
        for interval in hits:
            low, high = interval(values)
            hits[interval] += low <= 0 <= high
    assert 0.91 < hits[t_interval] / 200 < 0.99
    assert 0.75 < hits[bootstrap_interval] / 200 < 0.91


@pytest.mark.parametrize(
    ("claim", "changes", "says"),
    [
        ("flat-acquisition", {"learner.family.kind": "regular"}, "about the flat family"),
        ("composed-staircase", {"learner.family.kind": "flat"}, "about the composed family"),
        ("child-parent-order", {"learner.family.kind": "flat"}, "about the regular family"),
        ("acquisition-clock", {"learner.family.demand.kind": "ratio"}, "zipf demand"),
        ("flat-acquisition", {"seeds": []}, "at least one value"),
        ("child-parent-order", {"ratios": [1.1, 1.1]}, "none twice"),
    ],
)
def test_settings_that_a_claim_makes_no_sense_with_are_refused(claim, changes, says):
    with pytest.raises(InvalidConfig, match=says):
        CLAIMS[claim].presets["quick"].replace(changes)
