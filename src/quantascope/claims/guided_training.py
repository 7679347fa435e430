"""A Q-model as a removable target: what it gives an ordinary Transformer, and what of it matters.

Every row starts from the same network of its shape and sees the same 300 numbers (paper, section 5.3; table 1):

    ce, guided               the paper's plain form, without and with the target
    oracle                   the plain form, its target under the program's own routing, as the authors have it
    ours_ce, ours            our form, without and with the target
    unlabelled               our form, aligned also on prompts whose names nobody shows it
    depth, examples, word    controls: the target shuffled over depth, over examples, over equal output words
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from quantascope.claims.compiled_qmodel import EIGHT_SEEDS, NARROW, PANELS, SHORT
from quantascope.claims.guidance_runs import GuidanceOutcome, GuidanceRuns, by_seed, guidance_claim
from quantascope.claims.result import Estimate
from quantascope.guidance.alignment import event_updates, level_sums, linear_cka
from quantascope.guidance.learner import PLAIN, RELEASED, Control, GuidedLearner
from quantascope.qmodel.compiled.fit import program_task
from quantascope.runs.config import Config, Seeds

ROWS = {
    "ce": "cross-entropy alone",
    "guided": "guided",
    "oracle": "guided, target under the program's routing",
    "ours_ce": "our form, cross-entropy alone",
    "ours": "our form, guided",
    "unlabelled": "our form, guided also on unlabelled prompts",
    "depth": "guided, target shuffled over depth",
    "examples": "guided, target shuffled over examples",
    "word": "guided, target shuffled over equal output words",
}
ALIGNED_ON = "test"
OURS = GuidedLearner(teacher=NARROW)


class GuidedTraining(Config):
    """The paper's form and, unless left out, ours, over the same seeds."""

    plain: GuidedLearner = PLAIN
    ours: GuidedLearner | None = OURS
    prompts: str = "unlabelled"
    controls: tuple[Control, ...] = ("depth", "examples", "word")
    seeds: Seeds = EIGHT_SEEDS


def runs(config: GuidedTraining) -> dict[str, GuidanceRuns]:
    """Every row from every seed."""
    students = {
        "ce": config.plain.replace({"weight": 0.0}),
        "guided": config.plain,
        **{control: config.plain.replace({"control": control}) for control in config.controls},
    }
    teachers = {"plain": config.plain.teacher}
    if config.plain.routing != "oracle":
        students["oracle"] = config.plain.replace({"routing": "oracle"})
    if config.ours:
        teachers["ours"] = config.ours.teacher
        students["ours_ce"] = config.ours.replace({"weight": 0.0})
        students["ours"] = config.ours
        students["unlabelled"] = config.ours.replace({"prompts": config.prompts})
    return by_seed(GuidanceRuns(teachers=teachers, students=students), config.seeds)


def measure(config: GuidedTraining, evidence: Mapping[str, GuidanceOutcome]) -> dict[str, Estimate]:
    """Exact accuracy of every row, paired differences with cross-entropy alone, and held-out alignment."""
    found, over = list(evidence.values()), Estimate.over_runs
    rows = [row for row in ROWS if row in found[0].students]
    size = sum(parameter.numel() for parameter in found[0].students["guided"].model.parameters())
    figures = {"parameters": over("parameters of the ten-block Transformer", [size], "parameters")}
    for panel, says in PANELS.items():
        exact = {row: [100 * run.students[row].accuracy[f"{panel}_exact"] for run in found] for row in rows} | {
            f"teacher_{name}": [100 * run.teachers[name].accuracy[f"{panel}_exact"] for run in found]
            for name in found[0].teachers
        }
        titles = ROWS | {"teacher_plain": "the Q-model", "teacher_ours": "the Q-model of our form"}
        for row, values in exact.items():
            figures[f"{panel}_{row}"] = over(f"{titles[row]}, {says}", values, "%")
        for row in rows:
            base = "ours_ce" if row in ("ours", "unlabelled") else "ce"
            if row not in ("ce", "ours_ce"):
                gain = [one - other for one, other in zip(exact[row], exact[base], strict=True)]
                figures[f"{panel}_{row}_gain"] = over(f"{ROWS[row]}: gain, {says}", gain, "points")
        if config.plain.best_on:
            for row in rows:
                last = [100 * run.students[row].accuracy[f"{panel}_exact_last"] for run in found]
                figures[f"{panel}_{row}_last"] = over(f"{ROWS[row]}, last checkpoint, {says}", last, "%")
    if config.plain.best_on:
        for row in rows:
            steps = [run.students[row].accuracy["best_step"] for run in found]
            figures[f"best_step_{row}"] = over(f"{ROWS[row]}: step of the best checkpoint", steps, "steps")
    for row in ("ce", "guided", "ours"):
        if row not in rows:
            continue
        matrices = [alignment(run, row) for run in found]
        figures[f"alignment_{row}"] = over(
            f"mean CKA of each block with its level on held-out events, {ROWS[row]}",
            [float(matrix.diagonal().mean()) for matrix in matrices],
        )
    return figures


@torch.no_grad()
def alignment(run: GuidanceOutcome, row: str) -> Float[Tensor, "blocks levels"]:
    """Linear CKA of what each block adds with each level of the Q-model, on numbers that neither has seen."""
    teacher = run.teachers["ours" if row == "ours" else "plain"]
    task = program_task(teacher.config.program).task
    events = task.events(task.panel(ALIGNED_ON))
    levels = level_sums(teacher.model, events)
    updates = event_updates(run.students[row].model.run(events), events)
    return torch.tensor([[linear_cka(block, level) for level in levels.unbind(1)] for block in updates])


QUICK = {"training.steps": 10, **{f"teacher.{key}": value for key, value in SHORT.items()}}

CLAIM = guidance_claim(
    name="guided-training",
    says="a removable program target makes an ordinary Transformer generalize",
    presets={
        "quick": GuidedTraining(
            plain=PLAIN.replace(QUICK), ours=OURS.replace(QUICK), prompts="training", seeds=(0,)
        ),
        "full": GuidedTraining(),
        "paper": GuidedTraining(plain=RELEASED, ours=None, controls=(), seeds=(0,)),
    },
    runs=runs,
    measure=measure,
)
