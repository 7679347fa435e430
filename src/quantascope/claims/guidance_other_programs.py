"""Guidance by other programs: French number names, and addition digit by digit."""

from collections.abc import Mapping
from typing import Annotated

from quantascope.claims.claim import no_summary
from quantascope.claims.guidance_pair import compared, pair
from quantascope.claims.guidance_runs import GuidanceOutcome, GuidanceRuns, by_seed, guidance_claim
from quantascope.claims.guided_training import OURS, QUICK
from quantascope.claims.result import Estimate
from quantascope.guidance.learner import GuidedLearner
from quantascope.qmodel.compiled.fit import program_task
from quantascope.runs.config import Config, Distinct, Seeds


class GuidanceOtherPrograms(Config):
    """The same paired comparison on each program; a Transformer has as many blocks as its program has levels."""

    learner: GuidedLearner = OURS
    programs: Annotated[tuple[str, ...], Distinct] = ("french", "addition")
    seeds: Seeds = (0, 1, 2, 3, 4, 5, 6, 7)


def runs(config: GuidanceOtherPrograms) -> dict[str, GuidanceRuns]:
    """Every program from every seed."""
    return {
        label: wanted
        for program in config.programs
        for label, wanted in by_seed(pair(_learner(config, program)), config.seeds, f"{program}-seed").items()
    }


def _learner(config: GuidanceOtherPrograms, program: str) -> GuidedLearner:
    levels = len(program_task(program).compiled.graph.by_level)
    return config.learner.replace({"teacher.program": program, "model.blocks": levels})


def of_program(evidence: Mapping[str, GuidanceOutcome], program: str) -> list[GuidanceOutcome]:
    """The runs of one program."""
    return [run for label, run in evidence.items() if label.startswith(f"{program}-seed-")]


def measure(config: GuidanceOtherPrograms, evidence: Mapping[str, GuidanceOutcome]) -> dict[str, Estimate]:
    """Exact accuracy without and with guidance, and of the Q-model, on every panel that a task reports."""
    figures, over = {}, Estimate.over_runs
    for program in config.programs:
        taught, found = program_task(program), of_program(evidence, program)
        levels = [len(taught.compiled.graph.by_level)]
        figures[f"{program}_levels"] = over(f"{program}: levels of the graph", levels, "levels")
        for panel in taught.task.reported:
            rows = compared(found, panel, f"{program}, {panel}")
            figures |= {f"{program}_{panel}_{row}": figure for row, figure in rows.items()}
    return figures


CLAIM = guidance_claim(
    name="guidance-other-programs",
    says="guidance helps with programs other than English number names",
    presets={
        "quick": GuidanceOtherPrograms(
            learner=OURS.replace(QUICK),
            programs=("addition",),
            seeds=(0,),
        ),
        "full": GuidanceOtherPrograms(),
        "paper": GuidanceOtherPrograms(),
    },
    runs=runs,
    measure=measure,
    summary=no_summary,
)
