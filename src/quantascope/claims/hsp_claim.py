"""Claims about networks that learn forests of sparse parities."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from quantascope.acquisition.learner import HSPLearner, LearningCurves, learn, prepare
from quantascope.acquisition.learner_config import Learner
from quantascope.claims.claim import Claim, Cost
from quantascope.claims.result import Estimate
from quantascope.models import MLPConfig
from quantascope.runs.config import Config
from quantascope.tasks.hsp import ComposedFamily, DepthMass, FlatFamily, RegularFamily
from quantascope.training import OptimizerConfig, TrainingConfig


def hsp_claim(
    *,
    name: str,
    says: str,
    presets: Mapping[str, Any],
    runs: Callable[[Any], Mapping[str, Learner]],
    measure: Callable[[Any, Mapping[str, LearningCurves]], Mapping[str, Estimate]],
    cost: Callable[[Iterable[Any], int, str], Cost] | None = None,
) -> Claim:
    """A claim about networks that learn forests."""
    return Claim(
        name=name,
        says=says,
        presets=presets,
        runs=runs,
        prepare=prepare,
        work=learn,
        steps=lambda learner: learner.training.steps,
        measure=measure,
        cost=cost,
    )


TREE_DEFAULTS = HSPLearner(
    family=RegularFamily(roots=4, depth=3, pool=64, even=True, demand=DepthMass()),
    model=MLPConfig(hidden_layers=3, initialization="paper"),
    training=TrainingConfig(
        steps=20_000, optimizer=OptimizerConfig(name="sgd", learning_rate=0.1), evaluate_every=100
    ),
    batch_size=1024,
    data_seed=1000,
    draws="paper",
    drawn_at_once=256,
)
"""The defaults and draws of the released module for trees; whether displayed runs had them is not public."""


def with_model_seed(learner: HSPLearner, seed: int) -> dict[str, int]:
    """The seeds of a network, and of its batches, which in the released code have a seed of their own."""
    shift = 0 if learner.draws == "paper" else seed
    return {"model_seed": seed, "data_seed": learner.data_seed + shift}


def learning(family: type[Config]) -> Callable[[HSPLearner], HSPLearner]:
    """A validator for claims about a single family."""

    def check(learner: HSPLearner) -> HSPLearner:
        if not isinstance(learner.family, family):
            raise ValueError(
                f"this claim is about the {family.model_fields['kind'].default} family; keep its kind"
            )
        return learner

    return check


def quick_learner(family: FlatFamily | ComposedFamily | RegularFamily, *, steps: int) -> HSPLearner:
    """A smaller network for a first look at a small forest."""
    training = TrainingConfig(steps=steps)
    return HSPLearner(family=family, model=MLPConfig(width=128), training=training, batch_size=256)
