"""A program as a network: the compiled Q-model of number naming beside a Transformer (paper, section 5.3)."""

from collections.abc import Mapping

from quantascope.config import Config, Seeds
from quantascope.experiments.claim import Claim
from quantascope.experiments.compiled_learner import CompiledLearner, lesson
from quantascope.experiments.course import COURSES, Course, CourseRun, check_course, courses, take_course
from quantascope.experiments.guided_learner import GuidedLearner
from quantascope.experiments.result import Estimate
from quantascope.models import TransformerConfig

PANELS = {"balanced": "balanced evaluation", "zero_gap": "zero gaps", "short_tail": "short tails"}
EIGHT_SEEDS = (0, 1, 2, 3, 4, 5, 6, 7)


class CompiledQModelAccuracy(Config):
    """A Q-model and a Transformer of about its size, on the same 300 numbers."""

    learner: CompiledLearner = CompiledLearner()
    transformer: GuidedLearner = GuidedLearner(model=TransformerConfig(blocks=5), weight=0.0)
    seeds: Seeds = EIGHT_SEEDS


def runs(config: CompiledQModelAccuracy) -> dict[str, Course]:
    """Both from every seed."""
    course = Course(teachers={"qmodel": config.learner}, students={"transformer": config.transformer})
    return courses(course, config.seeds)


def measure(config: CompiledQModelAccuracy, evidence: Mapping[str, CourseRun]) -> dict[str, Estimate]:
    """Exact accuracy under predicted and oracle routing, and that of the Transformer."""
    taught, found = lesson(config.learner.program), list(evidence.values())
    graph, over = taught.compiled.graph, Estimate.over_runs
    models = [run.teachers["qmodel"] for run in found], [run.students["transformer"] for run in found]
    cardinality = {one.name: one.output_cardinality for one in taught.compiled.program.registry.quanta}
    figures = {
        "quanta": over("quanta of the compiled graph", [len(graph.names)], "quanta"),
        "edges": over("direct edges of the compiled graph", [len(graph.edges)], "edges"),
        "levels": over("levels of the compiled graph", [len(graph.by_level)], "levels"),
        "cardinality_tail_kind": over("outputs of TAIL_KIND", [cardinality["TAIL_KIND"]], "values"),
        "cardinality_boundary_action": over(
            "outputs of BOUNDARY_ACTION", [cardinality["BOUNDARY_ACTION"]], "values"
        ),
    }
    for key, whose, these in (("", "Q-model", models[0]), ("transformer_", "Transformer", models[1])):
        size = [sum(parameter.numel() for parameter in these[0].model.parameters())]
        figures[f"{key}parameters"] = over(f"parameters of the {whose}", size, "parameters")
    for panel, says in PANELS.items():
        exact = [[100 * run.accuracy[f"{panel}_exact"] for run in these] for these in models]
        oracle = [100 * run.accuracy[f"{panel}_exact_oracle"] for run in models[0]]
        of_panel = "" if panel == "balanced" else f"{panel}_"
        figures[f"{of_panel}exact"] = over(f"Q-model, {says}", exact[0], "%")
        figures[f"{of_panel}exact_oracle"] = over(f"Q-model under the program's routing, {says}", oracle, "%")
        figures[f"{of_panel}transformer_exact"] = over(f"Transformer, {says}", exact[1], "%")
        figures[f"{of_panel}gain"] = over(
            f"Q-model minus Transformer, {says}", [q - t for q, t in zip(*exact, strict=True)], "points"
        )
    return figures


SHORT = {"training.steps": 20, "training.schedule.decay_from": 10}

CLAIM = Claim(
    name="compiled-qmodel",
    says="a network with the shape of a program generalizes from 300 examples",
    presets={
        "quick": CompiledQModelAccuracy(
            learner=CompiledLearner().replace(SHORT),
            transformer=GuidedLearner(weight=0.0).replace({"training.steps": 20, "model.blocks": 2}),
            seeds=(0,),
        ),
        "full": CompiledQModelAccuracy(),
        "paper": CompiledQModelAccuracy(seeds=(0,)),
    },
    runs=runs,
    prepare=check_course,
    work=take_course,
    steps=lambda course: course.steps,
    measure=measure,
    shares=COURSES,
)
