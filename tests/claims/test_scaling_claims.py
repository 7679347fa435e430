"""The scaling claims on planted curves, and their runs: shared batches, divergence, resuming, cost."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from quantascope.acquisition.learner import (
    CohortLearner,
    LearningCurves,
    batches_of,
    learn,
    task_objective,
)
from quantascope.claims import cost, data_scaling, finite_size, joint_frontier, parameter_scaling
from quantascope.claims.claim import Reproduction
from quantascope.claims.cost import Seconds, cost_of, time_run, total_cost
from quantascope.claims.demand_level import BETAS
from quantascope.claims.register import CLAIMS
from quantascope.claims.result import Result
from quantascope.models import MuMLPConfig, TaskMLP
from quantascope.runs.errors import Diverged, InvalidConfig
from quantascope.scaling import compositional_order, fit_power_law, loss_after
from quantascope.scaling.joint import JointLaw, fit_separately
from quantascope.tasks.hsp import RegularFamily
from quantascope.theory import initial_loss
from quantascope.training import History, OptimizerConfig, Pace, TrainingConfig

FAMILY = RegularFamily(roots=4, depth=5, pool=28)
TINY = CohortLearner(
    family=RegularFamily(roots=2, depth=1, pool=6),
    widths=(8, 12, 16),
    hidden_layers=2,
    batch_size=32,
    panel_inputs=16,
    training=TrainingConfig(steps=60, evaluate_every=20, optimizer=OptimizerConfig(learning_rate=1e-2)),
)


def planted(config: CohortLearner, counts: np.ndarray, step: np.ndarray) -> LearningCurves:
    """Curves of a learner that knows the first K functions of the compositional order, and nothing else."""
    forest = config.forest
    place = np.argsort(compositional_order(forest))[forest.tasks]
    known = place[None, None, :] < counts[:, :, None]
    entropy = np.array([initial_loss(int(depth)) for depth in forest.depth[forest.tasks]])
    values = {"loss": np.where(known, 0.0, entropy), "coefficient": known.astype(float)}
    return LearningCurves(config, History(step, np.zeros(len(step)), values))


def scaling(**changes) -> parameter_scaling.ParameterScaling:
    learner = CohortLearner(
        family=FAMILY,
        widths=(8, 16, 32, 64, 128),
        hidden_layers=3,
        training=TrainingConfig(steps=1_000, evaluate_every=100),
    )
    defaults = {"learner": learner, "levels": parameter_scaling.fixed_levels(1_000), "window": 200,
                "checkpoint_every": 100}  # fmt: skip
    return parameter_scaling.ParameterScaling(**{**defaults, **changes})


def planted_sweep(config, scale: float = 0.004):
    step = np.arange(0, 1_100, 100)
    curves = {}
    for name, run in parameter_scaling.runs(config).items():
        sizes = np.array([m.parameter_count for m in run.build().networks()])
        curves[name] = planted(run, np.floor(np.outer(step / 1_000, scale * sizes)), step)
    return curves


def test_a_learner_of_the_predicted_order_has_the_predicted_exponent():
    config = scaling()
    curves = planted_sweep(config)
    figures = parameter_scaling.measure(config, curves)
    for beta, key in zip(BETAS, ("0_20", "0_25", "0_339"), strict=True):
        run = next(run for run in curves.values() if run.config.family.demand.beta == beta)
        counts = np.median(run.acquired.sum(-1)[-3:], axis=0)
        expected = fit_power_law(run.parameters, loss_after(run.forest, compositional_order(run.forest), counts))
        for name in ("exponent", "predicted", "predicted_soft", "reconstructed", "fractional"):
            assert figures[f"{name}_{key}"].mean == pytest.approx(expected.exponent, abs=0.01), name
        assert figures[f"predicted_log_error_{key}"].mean == pytest.approx(0, abs=0.01)
        assert figures[f"frontier_{key}"].mean == pytest.approx(1.0, abs=0.1)
        assert figures[f"exponent_{key}_at_50_percent"].mean < expected.exponent
        assert figures[f"exponent_{key}"].bootstrap is not None
    assert figures["diverged"].values == (0.0, 0.0, 0.0)


def test_one_width_per_run_gives_the_figures_of_all_widths_in_one():
    together, apart = scaling(seeds=(0, 1)), scaling(seeds=(0, 1), share_batches=False)
    assert len(parameter_scaling.runs(apart)) == 5 * len(parameter_scaling.runs(together))
    one, other = (parameter_scaling.measure(config, planted_sweep(config)) for config in (together, apart))
    assert one.keys() == other.keys()
    for key, estimate in one.items():
        assert estimate.values == pytest.approx(other[key].values, abs=1e-9), key


def test_a_diverged_network_is_counted_and_left_out_or_refused_as_the_config_says():
    config = scaling()
    curves = planted_sweep(config)
    spoilt = next(iter(curves))
    curves[spoilt].history.values["loss"][7, 2] = np.nan
    figures = parameter_scaling.measure(config, curves)
    assert figures["diverged"].values == (1.0, 0.0, 0.0)
    assert figures["exponent_0_20"].undefined == 0
    with pytest.raises(Diverged, match=r"1 networks diverged at alpha 0\.200; lower the learning rate or set"):
        parameter_scaling.measure(scaling(diverged="refuse"), curves)


def test_a_seed_that_lost_all_but_two_widths_leaves_its_figures_undefined(drawn):
    config = scaling()
    curves = planted_sweep(config)
    curves[next(iter(curves))].history.values["loss"][7, :3] = np.nan
    figures = parameter_scaling.measure(config, curves)
    assert figures["diverged"].values == (3.0, 0.0, 0.0)
    for name in ("exponent", "r2", "predicted", "frontier", "exponent_by_count"):
        assert figures[f"{name}_0_20"].runs == "2 of 3", name
        assert figures[f"{name}_0_25"].runs == "3", name
    assert figures["r2_across_alphas"].runs == "2 of 3"
    drawn(reproduced("parameter-scaling", config, curves, figures))


def reproduced(claim: str, config, curves, figures) -> Reproduction:
    return Reproduction(Result.of(claim, "full", config, figures, {}), config, curves, Path())


def test_one_seed_of_few_widths_is_measured_without_intervals_that_it_cannot_have():
    learner = scaling().learner.replace({"widths": [8, 16, 32, 64]})
    config = scaling(learner=learner, seeds=(0,))
    figures = parameter_scaling.measure(config, planted_sweep(config))
    assert figures["broken_excess_0_20"].runs == "0 of 1"
    assert figures["exponent_0_20"].low is None
    config = scaling(seeds=(0, 1))
    two = parameter_scaling.measure(config, planted_sweep(config))["exponential_excess_0_20"]
    assert two.mean is not None
    assert (two.low, two.high, two.bootstrap) == (None, None, None)


def test_a_budget_that_no_evaluation_meets_exactly_is_read_at_the_last_one_before():
    learner = scaling().learner.replace({"training.evaluate_every": 150})
    config = scaling(learner=learner, levels=parameter_scaling.fixed_levels(950))
    curves = planted_sweep(config)
    figures = parameter_scaling.measure(config, curves)
    exact = scaling(learner=learner, levels=parameter_scaling.fixed_levels(900))
    assert figures["exponent_0_20_no_window"].values == (
        parameter_scaling.measure(exact, curves)["exponent_0_20_no_window"].values
    )


def test_the_papers_checkpoints_are_not_run_where_they_are_not_reached_and_measured_where_they_are():
    config = scaling()
    assert parameter_scaling.measure(config, planted_sweep(config))["r2_0_20_at_15m_steps"].runs == "0"
    paper = CLAIMS["parameter-scaling"].presets["paper"]
    step = np.arange(0, 20_000_001, 250_000)
    curves = {}
    for name, run in parameter_scaling.runs(paper).items():
        # Coarser than the paper's evaluations; widths 24 and 256 collapse at 19 and 20 million.
        counts = np.full((len(step), 1), float(min(run.widths[0], 400)))
        collapse = {24: 19_000_000, 256: 20_000_000}.get(run.widths[0])
        if run.family.demand.beta == BETAS[2] and collapse:
            counts[step >= collapse] = 0
        curves[name] = planted(run, counts, step)
    figures = parameter_scaling.measure(paper, curves)
    assert figures["last_stable_0_339_width_24"].values == (18.0,)
    assert figures["collapsed_by_0_339_width_24"].values == (19.0,)
    assert figures["last_stable_0_339_width_256"].values == (19.0,)
    assert figures["last_stable_0_339_width_128"].values == (20.0,)
    assert figures["unstable_at_0_339_width_128"].runs == "0"
    assert figures["last_stable_0_339_other_widths"].values == (20.0,)
    assert 0 < figures["r2_0_339_at_17m_steps"].mean <= 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"levels": parameter_scaling.fixed_levels(2_000)}, "not within the 1000 steps"),
        ({"levels": ()}, "at least one level"),
        ({"learner": TINY.replace({"widths": [8, 16]})}, "2 widths make no fit; give at least 3"),
        ({"window": 99}, "a window of 99 steps may hold no evaluation, one being made every 100"),
        (
            {"levels": tuple(parameter_scaling.Level(beta=b, first=1_000, last=1_000) for b in (2.3, 2.3001))},
            "exponents 0.2016, 0.2017 are not all different to three decimals",
        ),
    ],
)
def test_a_sweep_that_makes_no_fit_is_refused(changes, message):
    if "learner" in changes:
        changes |= {"levels": parameter_scaling.fixed_levels(60)}
    with pytest.raises(ValueError, match=message):
        scaling(**changes)


def test_a_planted_data_law_is_found_in_its_window():
    learner = CohortLearner(
        family=FAMILY, widths=(16,), hidden_layers=3, batch_size=64,
        training=TrainingConfig(steps=10_000, evaluate_every=100),
    )  # fmt: skip
    config = data_scaling.DataScaling(learner=learner, patience=20)
    step = np.arange(0, 10_100, 100)
    counts = np.minimum(8 + 0.02 * step, 300)[:, None]
    curves = {name: planted(run, counts, step) for name, run in data_scaling.runs(config).items()}
    figures = data_scaling.measure(config, curves)
    assert figures["window_start_0_20"].mean == pytest.approx(0.0003, abs=0.0001)
    assert figures["window_end_0_20"].mean == pytest.approx(0.01, abs=0.001)
    assert figures["target_0_25"].mean == pytest.approx(0.2, abs=1e-6)
    for key in ("0_20", "0_25", "0_339"):
        assert figures[f"exponent_{key}"].mean == pytest.approx(figures[f"predicted_{key}"].mean, abs=0.01)
        assert figures[f"earlier_slope_{key}"].mean < figures[f"later_slope_{key}"].mean
    assert figures["earlier_end_0_20"].mean < figures["later_start_0_20"].mean


def test_a_trajectory_that_never_came_to_its_window_leaves_its_figures_undefined(drawn):
    learner = CohortLearner(
        family=FAMILY, widths=(16,), hidden_layers=3, batch_size=64,
        training=TrainingConfig(steps=2_000, evaluate_every=100),
    )  # fmt: skip
    config = data_scaling.DataScaling(learner=learner)
    step = np.arange(0, 2_100, 100)
    counts = np.minimum(0.02 * step, 300)[:, None]
    curves = {name: planted(run, counts, step) for name, run in data_scaling.runs(config).items()}
    name, run = next((name, run) for name, run in data_scaling.runs(config).items())
    idle = planted(run, 0 * counts, step)
    figures = data_scaling.measure(config, {**curves, name: idle})
    for figure in ("exponent", "later_slope", "window_end", "predicted_log_error", "broken_excess", "frontier"):
        assert figures[f"{figure}_0_20"].runs == "2 of 3", figure
    assert figures["acquired_0_20"].values[0] == 0
    drawn(reproduced("data-scaling", config, {**curves, name: idle}, figures))
    lost = planted(run, 0 * counts, step)
    lost.history.values["loss"][:] = lost.history.values["coefficient"][:] = np.nan
    assert data_scaling.measure(config, {**curves, name: lost})["acquired_0_20"].runs == "2 of 3"
    with pytest.raises(InvalidConfig, match="the window starts at acquisition 3, but there were 0; train longer"):
        data_scaling.measure(config, dict.fromkeys(curves, idle))


def test_a_grid_whose_third_cells_are_all_of_one_step_is_refused():
    with pytest.raises(InvalidConfig, match="with 3 steps, every third cell is of the last step"):
        joint_frontier.CLAIM.presets["full"].replace({"steps": [500, 1_000, 2_000]})
    with pytest.raises(InvalidConfig, match="with 3 widths, the widest at the last step is never fitted to"):
        joint_frontier.CLAIM.presets["full"].replace({"learner.widths": [8, 16, 32]})


@pytest.mark.parametrize("preset", ["quick", "full", "paper"])
def test_every_preset_leaves_cells_enough_to_fit_each_resource_by_itself(preset):
    config = joint_frontier.CLAIM.presets[preset].replace({"seeds": [0]})
    step, width = np.array([0, *config.steps]), np.array(config.learner.widths)
    counts = 20 * np.outer(step / step[-1], width / width[-1])
    curves = {name: planted(run, counts, step) for name, run in joint_frontier.runs(config).items()}
    grid = joint_frontier.grid_of(config, curves, 0)
    for split in joint_frontier.SPLITS:
        assert np.isfinite(fit_separately(grid.cells.where(~grid.held_out[split])).exponent).all()


def test_data_scaling_follows_one_network():
    with pytest.raises(ValueError, match="follows one network"):
        data_scaling.DataScaling(learner=TINY)


def test_a_planted_joint_law_foretells_unseen_cells_better_than_its_rivals():
    law = JointLaw(np.array([0.7, 0.5, 0.6]), np.array([-3.2, -2.0, -1.2]), 3.0)
    config = joint_frontier.CLAIM.presets["full"]
    step = np.arange(0, 4_250, 250)
    curves = {}
    for name, run in joint_frontier.runs(config).items():
        sizes = [m.parameter_count for m in run.build().networks()]
        grid = np.array([[(p, run.examples or np.inf, max(s, 1)) for p in sizes] for s in step], dtype=float)
        curves[name] = planted(run, law.count(grid.reshape(-1, 3)).reshape(len(step), -1), step)
    figures = joint_frontier.measure(config, curves)
    for split in joint_frontier.SPLITS:
        assert figures[f"joint_count_{split}"].mean < 0.12
        assert figures[f"gain_over_separate_{split}"].mean > 0.02
    assert figures["exponent_parameters"].mean == pytest.approx(0.7, abs=0.1)


def test_finite_size_names_the_size_from_which_the_bias_is_small():
    figures = finite_size.measure(finite_size.FiniteSize(), {})
    assert figures["compositional_0_25_at_1e9"].mean == pytest.approx(0.255, abs=0.001)
    small, large = (figures[f"{order}_0_25_within_5_percent"].mean for order in ("compositional", "direct"))
    assert 1e4 < small < 1e6
    assert large is None or large > 1e9


def test_widths_that_share_batches_learn_what_each_learns_alone(tmp_path):
    together = learn(TINY, tmp_path / "together")
    for index, width in enumerate(TINY.widths):
        alone = learn(TINY.replace({"widths": [width]}), tmp_path / f"{width}")
        assert np.allclose(
            together.history.values["loss"][:, index], alone.history.values["loss"][:, 0], atol=1e-6
        )
    assert together.parameters.tolist() == [
        TaskMLP(sensors=6, tasks=6, config=MuMLPConfig(width=w, hidden_layers=2), seed=0).parameter_count
        for w in TINY.widths
    ]


def test_a_training_set_of_few_examples_comes_again_in_the_same_order(tmp_path):
    few = batches_of(TINY.replace({"examples": 96}), torch.device("cpu"))
    fresh = batches_of(TINY, torch.device("cpu"))
    for step in range(7):
        assert torch.equal(few(step).signs, fresh(step % 3).signs)
    assert not torch.equal(fresh(0).signs, fresh(3).signs)
    with pytest.raises(InvalidConfig, match="100 examples are no whole number of batches of 32"):
        TINY.replace({"examples": 100})


WILD = {"training.optimizer": {"name": "sgd", "learning_rate": 1e30}}


def test_settings_under_which_every_network_diverges_are_refused(tmp_path):
    with pytest.raises(Diverged, match="training diverged at step"):
        learn(TINY.replace({**WILD, "widths": [8, 16, 64]}), tmp_path)


def test_a_network_that_diverges_alone_is_an_outcome_with_nothing_measured(tmp_path):
    curves = learn(TINY.replace({**WILD, "widths": [16]}), tmp_path)
    assert curves.diverged.tolist() == [True]
    assert curves.step.tolist() == learn(TINY, tmp_path / "tame").step.tolist()
    assert np.isnan(curves.loss).all()


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), 1e5])
def test_a_network_whose_loss_is_lost_or_too_large_is_nan_for_good_and_the_others_go_on(loss, monkeypatch):
    cohort = TINY.build()
    batch = batches_of(TINY, torch.device("cpu"))(0)
    monkeypatch.setattr(cohort, "loss_and_gradient", lambda *_: torch.tensor([0.5, loss, 0.7]))
    assert task_objective(cohort, batch, 0, lost_above=1e4)["cross_entropy"].item() == pytest.approx(0.6)
    lost = [bool(torch.isnan(network.theta).all()) for network in cohort.networks()]
    assert lost == [False, True, False]


def test_a_network_that_explodes_is_marked_and_the_others_finish_as_they_would_without_it(tmp_path):
    # At this rate the losses of the widest pass 1e4 while they are still finite.
    hot = {"training.optimizer": {"name": "sgd", "learning_rate": 12.0}, "training.steps": 100}
    curves = learn(TINY.replace({**hot, "widths": [8, 512]}), tmp_path / "both")
    assert curves.diverged.tolist() == [False, True]
    alone = learn(TINY.replace({**hot, "widths": [8]}), tmp_path / "alone")
    # Where a matrix lies in memory may change the last bit of a product.
    np.testing.assert_allclose(curves.loss[:, 0], alone.loss[:, 0], rtol=1e-5)


def test_the_data_model_of_the_paper_has_its_parameter_count():
    learner = CLAIMS["data-scaling"].presets["paper"].learner
    config = MuMLPConfig(width=learner.widths[0], hidden_layers=learner.hidden_layers)
    model = TaskMLP(sensors=learner.family.pool, tasks=4088, config=config, seed=0)
    assert model.parameter_count == 37_957_634


PROGRAM = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from quantascope.claims.register import CLAIMS
from quantascope.claims import parameter_scaling
from quantascope.acquisition.learner import learn
from quantascope.training import Pace
label, folder = sys.argv[1:]
run = parameter_scaling.runs(CLAIMS["parameter-scaling"].presets["paper"])[label]
pace = Pace(save=0.0, report=0.0)
learn(run, Path(folder), lambda step, loss, acquired=None: print(step, flush=True), pace)
"""


def start_paper_run(folder: Path) -> subprocess.Popen:
    command = [sys.executable, "-c", PROGRAM, "alpha-0.200-seed-0-width-8", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def test_a_run_of_the_papers_protocol_starts_is_killed_and_resumes(tmp_path):
    with start_paper_run(tmp_path) as first:
        steps = [int(first.stdout.readline()) for _ in range(6)]
        first.kill()
    assert steps[0] == 1
    assert (tmp_path / "state.safetensors").exists()
    assert (tmp_path / "checkpoints" / "step-00000000.safetensors").exists()
    with start_paper_run(tmp_path) as second:
        resumed = int(second.stdout.readline())
        second.kill()
    assert resumed > steps[-2]


def test_saving_takes_at_most_its_share_of_the_time(tmp_path, monkeypatch):
    from quantascope.training import loop

    saves = []

    def slow_save(*_) -> None:
        saves.append(time.monotonic())
        time.sleep(0.05)

    monkeypatch.setattr(loop, "save_state", slow_save)
    began = time.monotonic()
    learn(TINY.replace({"training.steps": 400}), tmp_path, None, Pace(save=1e-6, saving_share=0.1))
    assert len(saves) <= (time.monotonic() - began) / 0.5 + 3


def test_the_cost_is_that_of_all_updates_and_evaluations_and_shrinks_with_workers(monkeypatch):
    run = TINY.replace({"training.steps": 1_000})
    assert cost_of(run, Seconds(update=0.5, evaluation=2.0)).seconds == 1_000 * 0.5 + 51 * 2.0
    monkeypatch.setattr(cost, "time_run", lambda *_: Seconds(update=0.5, evaluation=2.0))
    jobs = [run.replace({"model_seed": seed}) for seed in range(4)]
    one, two = total_cost(jobs, 1), total_cost(jobs, 2)
    assert (one.seconds, two.seconds) == (4 * 602.0, 2 * 602.0)
    assert two.memory == 2 * one.memory
    assert str(one) == "40.1 minutes, 0.3 GB"


def test_updates_and_evaluations_of_a_run_are_timed():
    seconds = time_run(TINY)
    assert seconds.update > 0
    assert seconds.evaluation > 0
