"""What of a program does guidance teach? English inflection, with programs that share only some of the right one.

A program that is wrong for every word gives most of the gain of the right one (`guidance_real_data`). All teachers
here have the graph of the right program, and their students learn the same words with the answers of the
dictionary.

    plain       no teacher, and no noise on the stream
    ce          no teacher
    untrained   a teacher after one update, which knows no program
    steps       the right steps, but every letter of the stem is an a
    wrong       the right steps, but the stem is written backwards and the suffix is that of another form
    guided      the right program

If students of *untrained* do as well as those of *wrong*, any target of this form helps. If those of *steps* do,
and those of *untrained* do not, the steps help that all programs share.
"""

from collections.abc import Mapping

from quantascope.claims.claim import no_summary
from quantascope.claims.guidance_real_data import LEARNER, PANELS
from quantascope.claims.guidance_runs import GuidanceOutcome, GuidanceRuns, by_seed, guidance_claim
from quantascope.claims.guided_training import QUICK
from quantascope.claims.result import Estimate
from quantascope.guidance.learner import GuidedLearner
from quantascope.runs.config import Config, Positive, Seeds

ROWS = {
    "plain": "without guidance or noise",
    "ce": "without guidance",
    "untrained": "guided by an untrained Q-model",
    "steps": "guided by the steps alone",
    "wrong": "guided by wrong rules",
    "guided": "guided by the rules",
}
TEACHERS = ("guided", "wrong", "steps")
UNTRAINED = {"steps": 1, "evaluate_every": 1, "schedule.decay": "none", "schedule.decay_from": 0}


class GuidanceContent(Config):
    """Students of one number of words, from seeds that no other claim on these words uses."""

    learner: GuidedLearner = LEARNER
    wrong: str = "mistaken_inflection:wrong"
    steps: str = "mistaken_inflection:steps"
    words: Positive = 300
    seeds: Seeds = (8, 9, 10, 11, 12, 13, 14, 15)


def runs(config: GuidanceContent) -> dict[str, GuidanceRuns]:
    """Every student from every seed."""
    guided = config.learner.replace({"trained_on": f"training_{config.words}"})
    students = {
        "plain": guided.replace({"weight": 0.0, "stream_noise": 0.0}),
        "ce": guided.replace({"weight": 0.0}),
        "untrained": guided.replace({f"teacher.training.{key}": value for key, value in UNTRAINED.items()}),
        "steps": guided.replace({"teacher.program": config.steps}),
        "wrong": guided.replace({"teacher.program": config.wrong}),
        "guided": guided,
    }
    teachers = {name: students[name].teacher for name in TEACHERS}
    return by_seed(GuidanceRuns(teachers=teachers, students=students), config.seeds)


def measure(config: GuidanceContent, evidence: Mapping[str, GuidanceOutcome]) -> dict[str, Estimate]:
    """Exact accuracy of every student, its gain, and how well the Q-models know their programs."""
    figures: dict[str, Estimate] = {}
    found = list(evidence.values())
    for panel, says in PANELS.items():
        exact = {row: [100 * run.students[row].accuracy[f"{panel}_exact"] for run in found] for row in ROWS}
        for row, title in ROWS.items():
            figures[f"{panel}_{row}"] = Estimate.over_runs(f"{title}, {says}", exact[row], "%")
            if row not in ("ce", "plain"):
                gain = [one - alone for one, alone in zip(exact[row], exact["ce"], strict=True)]
                figures[f"{panel}_{row}_gain"] = Estimate.over_runs(f"gain: {title}, {says}", gain, "points")
    for teacher in TEACHERS:
        known = [100 * run.teachers[teacher].accuracy["test_exact"] for run in found]
        says = f"new words that the Q-model {teacher} writes as its program does"
        figures[f"teacher_{teacher}"] = Estimate.over_runs(says, known, "%")
    return figures


CLAIM = guidance_claim(
    name="guidance-content",
    says="guidance teaches what a program says, not only the steps in which it says it",
    presets={
        "quick": GuidanceContent(
            learner=LEARNER.replace({**QUICK, "teacher.trained_on": "training_100"}), words=100, seeds=(0,)
        ),
        "full": GuidanceContent(),
        "paper": GuidanceContent(),
    },
    runs=runs,
    measure=measure,
    summary=no_summary,
)
