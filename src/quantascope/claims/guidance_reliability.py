"""Does guidance do harm? Students of every program at several sizes, with and without guidance.

Also, whether Q-models of the same examples are equally accurate from every seed, in our form and in the paper's.
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np

from quantascope.claims.guidance_pair import compared, pair
from quantascope.claims.guidance_runs import GuidanceOutcome, GuidanceRuns, by_seed, guidance_claim
from quantascope.claims.guided_training import QUICK
from quantascope.claims.result import Estimate
from quantascope.guidance.learner import GuidedLearner
from quantascope.guidance.teacher import weakness
from quantascope.qmodel.compiled.fit import PAPER_QMODEL, CompiledLearner, program_task
from quantascope.runs.config import Config, Distinct, FurtherSeeds, Positive, Seeds

PROGRAMS = ("english", "french", "addition", "roman", "clock")
FORMS = {"qmodel": "our form", "paper": "the paper's form"}
NEAR = 3.0
"""Points from the best seed within which a Q-model counts as reliable."""


class GuidanceReliability(Config):
    """Pairs of students for every program, size and seed; at the largest size also Q-models of more seeds."""

    learner: GuidedLearner = GuidedLearner()
    paper: CompiledLearner = PAPER_QMODEL
    programs: Annotated[tuple[str, ...], Distinct] = PROGRAMS
    examples: Annotated[tuple[Positive, ...], Distinct] = (100, 200, 300)
    seeds: Seeds = (16, 17, 18, 19, 20, 21, 22, 23)
    further_seeds: FurtherSeeds = (24, 25)
    """Seeds of further Q-models, without students."""


def runs(config: GuidanceReliability) -> dict[str, GuidanceRuns]:
    """Every pair, and the Q-models that no student needs."""
    wanted: dict[str, GuidanceRuns] = {}
    largest = max(config.examples)
    for program in config.programs:
        pairs = {count: pair(_learner(config, program, count)) for count in config.examples}
        paper = config.paper.replace(_taught(program, largest))
        teachers = {**pairs[largest].teachers, "paper": paper}
        pairs[largest] = GuidanceRuns(teachers=teachers, students=pairs[largest].students)
        for count, both in pairs.items():
            wanted |= by_seed(both, config.seeds, f"{program}-{count}-seed")
        alone = GuidanceRuns(teachers=teachers, students={})
        wanted |= by_seed(alone, config.further_seeds, f"{program}-alone-seed")
    return wanted


def _taught(program: str, count: int) -> dict[str, str]:
    return {"program": program, "trained_on": f"training_{count}"}


def _learner(config: GuidanceReliability, program: str, count: int) -> GuidedLearner:
    """A student has as many blocks as its program has levels."""
    taught = {f"teacher.{key}": value for key, value in _taught(program, count).items()}
    return config.learner.replace({**taught, "model.blocks": len(program_task(program).compiled.graph.by_level)})


def of_kind(evidence: Mapping[str, GuidanceOutcome], kind: str) -> list[GuidanceOutcome]:
    """The runs of a program and size, or of a program's Q-models alone."""
    return [run for label, run in evidence.items() if label.startswith(f"{kind}-seed-")]


def measure(config: GuidanceReliability, evidence: Mapping[str, GuidanceOutcome]) -> dict[str, Estimate]:
    """Accuracies and gains of every program and size, and of its Q-models at the largest size."""
    figures: dict[str, Estimate] = {}
    for program in config.programs:
        panel = program_task(program).task.reported[0]
        for count in config.examples:
            cell, about = f"{program}_{count}", f"{program}, {count} examples"
            found = of_kind(evidence, f"{program}-{count}")
            rows = compared(found, panel, f"{about}, {panel}")
            accepted = [weakness(run.teachers["qmodel"]) is None for run in found]
            gains = [gain if known else np.nan for gain, known in zip(rows["gain"].values, accepted, strict=True)]
            figures |= {f"{cell}_{row}": figure for row, figure in rows.items()}
            figures[f"{cell}_accepted"] = Estimate.over_runs(f"teachers that guide accepts, {about}", accepted)
            figures[f"{cell}_accepted_gain"] = Estimate.over_runs(
                f"gain by teachers that guide accepts, {about}", gains, "points"
            )
        largest = max(config.examples)
        most = [*of_kind(evidence, f"{program}-{largest}"), *of_kind(evidence, f"{program}-alone")]
        for form, title in FORMS.items():
            exact = [100 * run.teachers[form].accuracy[f"{panel}_exact"] for run in most]
            figures[f"{program}_teachers_{form}"] = Estimate.over_runs(f"Q-models, {title}, {program}", exact, "%")
    return figures


def summarize(figures: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The worst of all gains, and how many Q-models of each program are near the best."""
    accepted = [value for key, one in figures.items() if key.endswith("_accepted_gain") for value in one.values]
    gains = [
        one.values for key, one in figures.items() if key.endswith("_gain") and not key.endswith("_accepted_gain")
    ]
    near = {
        key.replace("_teachers_", "_near_best_"): _near_best(one)
        for key, one in figures.items()
        if "_teachers_" in key
    }
    every = [value for cell in gains for value in cell]
    lowest = min(float(np.mean(cell)) for cell in gains)
    return near | {
        "lowest_mean_gain": _one("lowest mean gain of a program and size", lowest, "points"),
        "lowest_gain": _one("lowest gain of a student", min(every), "points"),
        "lowest_gain_accepted": _one(
            "lowest gain of a student whose teacher guide accepts", min(accepted, default=np.nan), "points"
        ),
        "pairs": _one("pairs of students", len(every)),
        "pairs_accepted": _one("pairs whose teacher guide accepts", len(accepted)),
    }


def _near_best(teachers: Estimate) -> Estimate:
    near = sum(value >= max(teachers.values) - NEAR for value in teachers.values)
    return _one(f"within {NEAR:.0f} points of the best: {teachers.says}", near)


def _one(says: str, value: float, unit: str = "") -> Estimate:
    return Estimate.over_runs(says, [value], unit)


CLAIM = guidance_claim(
    name="guidance-reliability",
    says="guidance does no harm: at any size of any program, a student is no worse for its teacher",
    presets={
        "quick": GuidanceReliability(
            learner=GuidedLearner().replace(QUICK),
            paper=PAPER_QMODEL.replace({key.removeprefix("teacher."): value for key, value in QUICK.items()}),
            programs=("addition",),
            examples=(100,),
            seeds=(0,),
            further_seeds=(1,),
        ),
        "full": GuidanceReliability(),
        "paper": GuidanceReliability(),
    },
    runs=runs,
    measure=measure,
    summary=summarize,
)
