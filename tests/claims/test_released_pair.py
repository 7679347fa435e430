"""Claims about programs as the released code runs them: what they measure, of accuracies made by hand."""

from pathlib import Path

import pytest

from quantascope.claims.claim import Reproduction
from quantascope.claims.compiled_qmodel import PANELS
from quantascope.claims.figures import draw_claim
from quantascope.claims.guidance_runs import GuidanceOutcome
from quantascope.claims.register import CLAIMS
from quantascope.claims.result import Result
from quantascope.claims.scoreboard import read_paper
from quantascope.guidance.guide import GuidedRun, fresh_network
from quantascope.qmodel.compiled.fit import CompiledRun, fresh_qmodel, program_task

RESULTS = Path(__file__).parents[2] / "results"


def outcome_of(runs) -> GuidanceOutcome:
    """Untrained networks whose accuracies tell panel, routing and checkpoint apart."""
    taught = program_task("english")
    accuracy: dict[str, float] = {"best_step": 980.0}
    for number, panel in enumerate(PANELS):
        kinds = ("exact", "exact_oracle", "exact_last", "exact_oracle_last")
        accuracy |= {f"{panel}_{kind}": 0.9 - 0.1 * number - 0.01 * at for at, kind in enumerate(kinds)}
    teachers = {
        name: CompiledRun(one, fresh_qmodel(one.model, taught, seed=0), accuracy, None, "english")
        for name, one in runs.teachers.items()
    }
    students = {
        name: GuidedRun(one, fresh_network(one, taught), accuracy, "english")
        for name, one in runs.students.items()
    }
    return GuidanceOutcome(teachers, students)


@pytest.mark.parametrize("name", ["compiled-qmodel", "guided-training"])
def test_best_and_last_checkpoints_are_told_apart_and_drawn(name, tmp_path):
    claim = CLAIMS[name]
    config = claim.presets["paper"]
    evidence = {label: outcome_of(runs) for label, runs in claim.runs(config).items()}
    figures = claim.measure(config, evidence)
    assert {one.figure for one in read_paper(RESULTS) if one.claim == name} <= figures.keys()
    if name == "compiled-qmodel":
        expected = {"exact": 90, "exact_oracle": 89, "exact_last": 88, "zero_gap_exact": 80, "best_step": 980,
                    "zero_gap_exact_last": 78, "transformer_exact_last": 88, "gain": 0}  # fmt: skip
        assert not any("narrow" in key for key in figures)
    else:
        expected = {"balanced_ce": 90, "balanced_guided": 90, "balanced_guided_last": 88, "short_tail_ce": 70,
                    "short_tail_ce_last": 68, "best_step_guided": 980, "balanced_guided_gain": 0}  # fmt: skip
        assert not any("ours" in key or "oracle" in key for key in figures)
    assert {key: figures[key].mean for key in expected} == pytest.approx(expected)
    result = Result.of(name, "paper", config, figures, {})
    rows = draw_claim(Reproduction(result, config, evidence, tmp_path)).axes[0].get_yticklabels()
    assert sum("last step" in row.get_text() for row in rows) == (1 if name == "compiled-qmodel" else 2)
