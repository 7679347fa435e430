"""Do the rules help where data have exceptions? English inflection, with and without guidance.

Every student sees the same words with the answers of the dictionary, exceptions included. Its teacher is a
Q-model of spelling rules, taught on words of the training split and what the program writes, not on their answers.

    ce           no teacher
    guided       the rules, at every word
    only_right   the rules, at the words that they spell as the dictionary does
    incomplete   rules that are right for nine words in ten, at every word
    wrong        a control that must not help: rules of the same form that are wrong for every word
"""

from collections.abc import Mapping
from typing import Annotated

from quantascope.claims.claim import no_summary
from quantascope.claims.guidance_runs import GuidanceOutcome, GuidanceRuns, by_seed, guidance_claim
from quantascope.claims.guided_training import QUICK
from quantascope.claims.result import Estimate
from quantascope.guidance.learner import GuidedLearner
from quantascope.models import TransformerConfig
from quantascope.qmodel.compiled.fit import ADAM, CompiledLearner
from quantascope.runs.config import Config, Distinct, Positive, Seeds
from quantascope.training import ScheduleConfig, TrainingConfig

ROWS = {
    "ce": "without guidance",
    "guided": "guided by the rules",
    "only_right": "guided where the rules are right",
    "incomplete": "guided by incomplete rules",
    "wrong": "guided by wrong rules",
}
PANELS = {"test_regular": "new regular words", "test_exceptions": "new exceptions"}
TEACHERS = ("qmodel", "incomplete", "wrong")
LEARNER = GuidedLearner(
    teacher=CompiledLearner(
        program="inflection",
        trained_on="training_3000",
        batch=64,
        gate_weight=2.0,
        semantic_weight=1.0,
        message_noise=0.0,
        training=TrainingConfig(
            steps=2000, optimizer=ADAM, schedule=ScheduleConfig(decay="linear"), evaluate_every=2000
        ),
    ),
    model=TransformerConfig(blocks=5, width=48, heads=4, hidden=96),
    training=TrainingConfig(
        steps=2000,
        optimizer=ADAM.replace({"learning_rate": 3e-3}),
        schedule=ScheduleConfig(decay="linear"),
        evaluate_every=2000,
    ),
    batch=64,
)
"""A network with a block for each level of the program; benchmarks/inflection_teachers.py chose its teacher."""


class GuidanceRealData(Config):
    """Nested training words; teachers do not depend on how many there are."""

    learner: GuidedLearner = LEARNER
    incomplete: str = "mistaken_inflection:incomplete"
    wrong: str = "mistaken_inflection:wrong"
    examples: Annotated[tuple[Positive, ...], Distinct] = (100, 300, 1000, 3000)
    seeds: Seeds = (0, 1, 2, 3, 4, 5, 6, 7)


def runs(config: GuidanceRealData) -> dict[str, GuidanceRuns]:
    """Every student from every seed at every size."""
    return {
        label: wanted
        for count in config.examples
        for label, wanted in by_seed(_rows(config, count), config.seeds, f"words-{count}-seed").items()
    }


def _rows(config: GuidanceRealData, count: int) -> GuidanceRuns:
    guided = config.learner.replace({"trained_on": f"training_{count}"})
    students = {
        "ce": guided.replace({"weight": 0.0}),
        "guided": guided,
        "only_right": guided.replace({"only_right": True}),
        "incomplete": guided.replace({"teacher.program": config.incomplete}),
        "wrong": guided.replace({"teacher.program": config.wrong}),
    }
    of_guided = {"qmodel": "guided", "incomplete": "incomplete", "wrong": "wrong"}
    return GuidanceRuns(
        teachers={name: students[student].teacher for name, student in of_guided.items()}, students=students
    )


def measure(config: GuidanceRealData, evidence: Mapping[str, GuidanceOutcome]) -> dict[str, Estimate]:
    """Exact accuracy and gain of every student, and how well the Q-models know their programs."""
    figures: dict[str, Estimate] = {}
    for count in config.examples:
        found = [run for label, run in evidence.items() if label.startswith(f"words-{count}-seed-")]
        for panel, says in PANELS.items():
            exact = {row: [100 * run.students[row].accuracy[f"{panel}_exact"] for run in found] for row in ROWS}
            for row, title in ROWS.items():
                about = f"{title}, {count} words, {says}"
                figures[f"{panel}_{row}_{count}"] = Estimate.over_runs(about, exact[row], "%")
                if row != "ce":
                    gain = [one - alone for one, alone in zip(exact[row], exact["ce"], strict=True)]
                    figures[f"{panel}_{row}_gain_{count}"] = Estimate.over_runs(f"gain: {about}", gain, "points")
    of_a_size = [run for label, run in evidence.items() if label.startswith(f"words-{config.examples[0]}-seed-")]
    for teacher in TEACHERS:
        known = [100 * run.teachers[teacher].accuracy["test_exact"] for run in of_a_size]
        says = f"new words that the Q-model {teacher} writes as its program does"
        figures[f"teacher_{teacher}"] = Estimate.over_runs(says, known, "%")
    return figures


CLAIM = guidance_claim(
    name="guidance-real-data",
    says="rules of spelling guide a network that learns real words, and do not cost the exceptions",
    presets={
        "quick": GuidanceRealData(
            learner=LEARNER.replace({**QUICK, "teacher.trained_on": "training_100"}), examples=(100,), seeds=(0,)
        ),
        "full": GuidanceRealData(),
        "paper": GuidanceRealData(),
    },
    runs=runs,
    measure=measure,
    summary=no_summary,
)
