"""The traces claim: sums over units by hand, and from a small source to its figure."""

from pathlib import Path

import pytest
import torch

from quantascope.claims import traces
from quantascope.claims.claim import Reproduction
from quantascope.claims.recovered_models import PAPER_MODELS
from quantascope.claims.register import CLAIMS
from quantascope.claims.result import Result
from quantascope.claims.scoreboard import read_paper
from quantascope.claims.semantics import Semantics
from quantascope.claims.traces import TracedFit, measure, traced_source
from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.qmodel.recovered.trace import Step, Trace, Unit

RESULTS = Path(__file__).parents[2] / "results"


def step(token: str, right: str, *writers: tuple[str, float]) -> Step:
    units = tuple(Unit(name, activity) for name, activity in writers)
    return Step(token, right, right, (Unit("L0.Q0", 1.0), Unit("L0.Q1", 0.0)), units, (), (), ())


def fit(*steps: Step) -> TracedFit:
    found = TracedFit(object.__new__(RecoveredRun), "800", {"L0.Q0.W0": 0.9, "L0.Q0.W1": 0.5})
    whole = Trace("800", "faithful", ("L0.Q0", "L0.Q1"), (), (), (), None, steps)
    found.__dict__.update(trace=whole, lengths={"L0.Q0.W0": 5.0, "L0.Q0.W1": 1.0, "L0.Q1.W3": 2.0})
    return found


def test_activity_is_the_paper_s_and_units_without_description_have_no_f1():
    one = step("eight", "eight", ("L0.Q0.W0", 1.0), ("L0.Q1.W3", 2.0))
    gelu = torch.nn.functional.gelu(torch.tensor([1.0, 2.0])).tolist()
    assert fit(one).activity(one) == pytest.approx(5 * gelu[0] + 2 * gelu[1])
    assert fit(one).scores([one]) == [0.9]


def test_words_count_as_long_as_the_output_is_right():
    said = fit(step("eight", "eight"), step("thousand", "hundred"), step("EOS", "EOS"))
    assert list(said.steps) == ["eight"]
    figures = traces._at_word([said, fit(step("eight", "eight", ("L0.Q0.W1", 1.0)))], "800", "eight")
    assert figures["active_quanta_800_eight"].values == (2.0, 2.0)
    assert figures["active_writers_800_eight"].values == (0.0, 1.0)
    assert (figures["min_f1_800_eight"].values, figures["min_f1_800_eight"].undefined) == ((0.5,), 1)
    whole = traces._of_output([said], "800")
    assert whole["matching_steps_800"].mean == 2


@pytest.fixture(scope="module")
def config(models):
    one_source = models.model_copy(update={"seeds": (0,), "distilled_fit_seeds": (), "compared": "fits"})
    return Semantics(models=one_source, calibration="priority", test="causal", permutations=2)


@pytest.fixture(scope="module")
def evidence(config, runs_folder):
    jobs = traces.CLAIM.runs(config)
    return {label: traced_source(job, runs_folder / f"traces-{label}") for label, job in jobs.items()}


def test_every_figure_that_can_be_had_is_measured_and_drawn(config, evidence, tmp_path, drawn):
    stated = {one.figure for one in read_paper(RESULTS) if one.claim == "traces" and one.reach}
    figures = measure(config, evidence)
    assert stated <= set(figures)
    assert all(len(one.values) + one.undefined == 2 for one in figures.values())
    result = Result.of("traces", "quick", config, CLAIMS["traces"].measure(config, evidence), {})
    assert len(drawn(Reproduction(result, config, evidence, tmp_path)).axes) == 2


def test_the_paper_s_models_are_those_of_the_released_code_and_have_no_distilled_one():
    assert PAPER_MODELS.faithful.closure == 0.1
    assert not PAPER_MODELS.distilled_fit_seeds
