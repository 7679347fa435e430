"""How few examples suffice: accuracy against the number of training numbers, guided and not."""

from collections.abc import Mapping
from typing import Annotated

from quantascope.claims.claim import no_summary
from quantascope.claims.compiled_qmodel import PANELS
from quantascope.claims.guidance_pair import compared, pair
from quantascope.claims.guidance_runs import GuidanceOutcome, GuidanceRuns, by_seed, guidance_claim
from quantascope.claims.guided_training import OURS, QUICK
from quantascope.claims.result import Estimate
from quantascope.guidance.learner import GuidedLearner
from quantascope.runs.config import Config, Distinct, Positive, Seeds


class GuidanceData(Config):
    """Nested training sets; the Q-model sees no more examples than its student."""

    learner: GuidedLearner = OURS
    examples: Annotated[tuple[Positive, ...], Distinct] = (50, 100, 200, 300, 600)
    seeds: Seeds = (0, 1, 2, 3, 4, 5, 6, 7)


def runs(config: GuidanceData) -> dict[str, GuidanceRuns]:
    """A guided and an unguided run from every seed at every size."""
    return {
        label: wanted
        for count in config.examples
        for label, wanted in by_seed(
            pair(config.learner.replace({"teacher.trained_on": f"training_{count}"})),
            config.seeds,
            f"examples-{count}-seed",
        ).items()
    }


def of_size(evidence: Mapping[str, GuidanceOutcome], count: int) -> list[GuidanceOutcome]:
    """The runs of one size."""
    return [run for label, run in evidence.items() if label.startswith(f"examples-{count}-")]


def measure(config: GuidanceData, evidence: Mapping[str, GuidanceOutcome]) -> dict[str, Estimate]:
    """Exact accuracy without and with guidance, and of the Q-model, at every size."""
    return {
        f"{panel}_{row}_{count}": figure
        for count in config.examples
        for panel, says in PANELS.items()
        for row, figure in compared(of_size(evidence, count), panel, f"{count} numbers, {says}").items()
    }


CLAIM = guidance_claim(
    name="guidance-data-efficiency",
    says="with a program's guidance a Transformer needs fewer examples",
    presets={
        "quick": GuidanceData(
            learner=OURS.replace(QUICK),
            examples=(50, 100),
            seeds=(0,),
        ),
        "full": GuidanceData(),
        "paper": GuidanceData(),
    },
    runs=runs,
    measure=measure,
    summary=no_summary,
)
