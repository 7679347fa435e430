"""The demand exponents that the scaling claims prescribe, and the runs at each of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from quantascope.acquisition.learner import CohortLearner
from quantascope.claims.result import Estimate
from quantascope.runs.config import Config, Positive, PositiveFloat
from quantascope.tasks.hsp import ClosureDemand, RegularFamily
from quantascope.theory import exponent
from quantascope.training import OptimizerConfig, TrainingConfig


class Level(Config):
    """A demand exponent, given by the decay β of closure demand per level, and the checkpoints of its fit.

    The fit reads the last stable checkpoint from `first` to `last`; where they are equal, nothing is selected.
    """

    beta: PositiveFloat
    first: Positive
    last: Positive

    def alpha(self, branching: int) -> float:
        """α = log_ρ β − 1."""
        return exponent(branching, self.beta)


BETAS = (2.29739671, 2.37841423, 2.53)
"""The paper's decays, for α = 0.20, 0.25 and 0.339137 at branching 2."""


def key_of(alpha: float) -> str:
    """The name of an exponent in figures' keys.

    >>> key_of(0.2), key_of(0.339137)
    ('0_20', '0_339')
    """
    text = f"{alpha:.3f}"
    return text.removesuffix("0").replace(".", "_")


def at_alpha(alpha: float, figures: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The figures of a level, with its exponent added to what they say."""
    return {key: replace(figure, says=f"{figure.says}, α = {alpha:.3f}") for key, figure in figures.items()}


def refuse_equal_names(alphas: Sequence[float]) -> None:
    """Raise for exponents that figures and runs cannot distinguish by name.

    >>> refuse_equal_names([0.2, 0.2001])
    Traceback (most recent call last):
    ValueError: exponents 0.2, 0.2001 are not all different to three decimals, which name their runs; spread them
    """
    if len({key_of(alpha) for alpha in alphas}) < len(alphas):
        said = ", ".join(f"{alpha:.4g}" for alpha in alphas)
        raise ValueError(
            f"exponents {said} are not all different to three decimals, which name their runs; spread them"
        )


def at_level(learner: CohortLearner, beta: float, seed: int) -> CohortLearner:
    """The run of a level and a seed; the seed determines supports, networks, batches and panel."""
    family = learner.family.model_copy(
        update={"demand": ClosureDemand(beta=beta), "support_seed": learner.family.support_seed + seed}
    )
    return learner.model_copy(
        update={
            "family": family,
            "model_seed": learner.model_seed + seed,
            "data_seed": learner.data_seed + seed,
            "panel_seed": learner.panel_seed + seed,
        }
    )


def quick_cohort(*, widths: tuple[int, ...], steps: int, evaluate_every: int) -> CohortLearner:
    """Small networks for a first look at a small forest."""
    return CohortLearner(
        family=RegularFamily(roots=2, depth=3, pool=12),
        widths=widths,
        hidden_layers=2,
        batch_size=256,
        training=_adam(steps, evaluate_every),
    )


def full_cohort(
    family: RegularFamily, *, widths: tuple[int, ...], steps: int, evaluate_every: int
) -> CohortLearner:
    """Networks that train in hours on two cores."""
    return CohortLearner(
        family=family,
        widths=widths,
        hidden_layers=3,
        batch_size=512,
        training=_adam(steps, evaluate_every),
    )


def _adam(steps: int, evaluate_every: int) -> TrainingConfig:
    optimizer = OptimizerConfig(name="adam", learning_rate=1e-2)
    return TrainingConfig(steps=steps, evaluate_every=evaluate_every, optimizer=optimizer)


def paper_training(*, steps: int, evaluate_every: int, checkpoints: tuple[int, ...] = ()) -> TrainingConfig:
    """The paper's optimizer."""
    optimizer = OptimizerConfig(name="sgd", learning_rate=0.0075)
    return TrainingConfig(steps=steps, evaluate_every=evaluate_every, checkpoints=checkpoints, optimizer=optimizer)
