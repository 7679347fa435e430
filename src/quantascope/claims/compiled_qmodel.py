"""A program as a network: the compiled Q-model of number naming beside a Transformer (paper, section 5.3)."""

from collections.abc import Mapping, Sequence

from quantascope.claims.guidance_runs import GuidanceOutcome, GuidanceRuns, by_seed, guidance_claim
from quantascope.claims.result import Estimate
from quantascope.guidance.guide import GuidedRun
from quantascope.guidance.learner import PLAIN, RELEASED, GuidedLearner
from quantascope.qmodel.compiled.fit import (
    PAPER_QMODEL,
    RELEASED_QMODEL,
    CompiledLearner,
    CompiledRun,
    program_task,
)
from quantascope.runs.config import Config, Seeds

PANELS = {"balanced": "balanced evaluation", "zero_gap": "zero gaps", "short_tail": "short tails"}
EIGHT_SEEDS = (8, 9, 10, 11, 12, 13, 14, 15)
"""Seeds 8 to 15, because 0 to 7 had been seen on the evaluation panels when our form was chosen."""


NARROW = CompiledLearner(noise_warmup=0.0)
"""Our form of the claims on English: full noise from the first step, which other programs may not survive."""


class CompiledQModelAccuracy(Config):
    """Q-models as the paper trains them and, unless left out, as we do, and a Transformer of about their size."""

    learner: CompiledLearner = PAPER_QMODEL
    narrow: CompiledLearner | None = NARROW
    transformer: GuidedLearner = PLAIN.replace({"model.blocks": 5, "weight": 0.0})
    seeds: Seeds = EIGHT_SEEDS


def runs(config: CompiledQModelAccuracy) -> dict[str, GuidanceRuns]:
    """Two forms of the Q-model and a Transformer from every seed."""
    teachers = {"qmodel": config.learner} | ({"narrow": config.narrow} if config.narrow else {})
    return by_seed(GuidanceRuns(teachers=teachers, students={"transformer": config.transformer}), config.seeds)


def measure(config: CompiledQModelAccuracy, evidence: Mapping[str, GuidanceOutcome]) -> dict[str, Estimate]:
    """Exact accuracy under predicted and oracle routing, and that of the Transformer."""
    taught, found = program_task(config.learner.program), list(evidence.values())
    graph, over = taught.compiled.graph, Estimate.over_runs
    qmodels = [run.teachers["qmodel"] for run in found]
    forms = {"": ("Q-model", qmodels)}
    if config.narrow:
        forms["narrow_"] = ("Q-model with narrow channels", [run.teachers["narrow"] for run in found])
    transformers = [run.students["transformer"] for run in found]
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
    for key, whose, model in (
        ("", "Q-model", qmodels[0].model),
        ("transformer_", "Transformer", transformers[0].model),
    ):
        size = [sum(parameter.numel() for parameter in model.parameters())]
        figures[f"{key}parameters"] = over(f"parameters of the {whose}", size, "parameters")
    for panel, says in PANELS.items():
        of_panel = "" if panel == "balanced" else f"{panel}_"
        beside = [100 * run.accuracy[f"{panel}_exact"] for run in transformers]
        figures[f"{of_panel}transformer_exact"] = over(f"Transformer, {says}", beside, "%")
        for key, (whose, models) in forms.items():
            exact = [100 * run.accuracy[f"{panel}_exact"] for run in models]
            oracle = [100 * run.accuracy[f"{panel}_exact_oracle"] for run in models]
            gain = [one - other for one, other in zip(exact, beside, strict=True)]
            figures[f"{of_panel}{key}exact"] = over(f"{whose}, {says}", exact, "%")
            figures[f"{of_panel}{key}exact_oracle"] = over(
                f"{whose} under the program's routing, {says}", oracle, "%"
            )
            figures[f"{of_panel}{key}gain"] = over(f"{whose} minus Transformer, {says}", gain, "points")
    if config.learner.best_on and config.transformer.best_on:
        figures |= _of_last({"": ("Q-model", qmodels), "transformer_": ("Transformer", transformers)})
    return figures


def _of_last(models: Mapping[str, tuple[str, Sequence[CompiledRun | GuidedRun]]]) -> dict[str, Estimate]:
    """When the checkpoint that is best on the evaluation set was reached, and the accuracies of the last one."""
    figures = {}
    for key, (whose, runs) in models.items():
        steps = [run.accuracy["best_step"] for run in runs]
        figures[f"{key}best_step"] = Estimate.over_runs(f"step of the best checkpoint, {whose}", steps, "steps")
        for panel, says in PANELS.items():
            last = [100 * run.accuracy[f"{panel}_exact_last"] for run in runs]
            of_panel = "" if panel == "balanced" else f"{panel}_"
            title = f"{whose}, last checkpoint, {says}"
            figures[f"{of_panel}{key}exact_last"] = Estimate.over_runs(title, last, "%")
    return figures


SHORT = {"training.steps": 20, "training.schedule.decay_from": 10}

CLAIM = guidance_claim(
    name="compiled-qmodel",
    says="a network with the shape of a program generalizes from 300 examples",
    presets={
        "quick": CompiledQModelAccuracy(
            learner=PAPER_QMODEL.replace(SHORT),
            narrow=NARROW.replace(SHORT),
            transformer=PLAIN.replace({"weight": 0.0, "training.steps": 20, "model.blocks": 2}),
            seeds=(0,),
        ),
        "full": CompiledQModelAccuracy(),
        "paper": CompiledQModelAccuracy(
            learner=RELEASED_QMODEL,
            narrow=None,
            transformer=RELEASED.replace({"model.blocks": 5, "weight": 0.0, "drawn_after": "nothing"}),
            seeds=(0,),
        ),
    },
    runs=runs,
    measure=measure,
)
