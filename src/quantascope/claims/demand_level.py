"""The demand exponents that the scaling claims prescribe, and the runs at each of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from quantascope.acquisition.learner import CohortLearner
from quantascope.claims.result import Estimate
from quantascope.runs.config import Config, Positive, PositiveFloat
from quantascope.tasks.hsp import ClosureDemand
from quantascope.theory import exponent


class Level(Config):
    """A demand exponent by the decay β of closure demand per level of depth, and the checkpoints of its fit.

    The fit reads the last stable checkpoint from `first` to `last`; where they are equal, nothing is selected.
    """

    beta: PositiveFloat
    first: Positive
    last: Positive

    def alpha(self, branching: int) -> float:
        """α = log_ρ β − 1."""
        return exponent(branching, self.beta)


BETAS = (2.29739671, 2.37841423, 2.53)
"""The paper's: α = 0.20, 0.25 and 0.339137 at branching 2."""


PREDICTIONS = {
    "predicted": "exponent by Q-dynamics at the measured K",
    "predicted_direct": "exponent by Q-dynamics at the measured K, every function a shortcut",
    "predicted_soft": "exponent by Q-dynamics at the soft count (added after the runs were seen)",
    "reconstructed": "exponent by the functions that were really acquired",
    "fractional": "exponent by unmet shares of functions (added after the runs were seen)",
}
"""What the exponent of the loss is compared with."""


def key_of(alpha: float) -> str:
    """How figures name an exponent.

    >>> key_of(0.2), key_of(0.339137)
    ('0_20', '0_339')
    """
    text = f"{alpha:.3f}"
    return text.removesuffix("0").replace(".", "_")


def at_alpha(alpha: float, figures: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The figures of a level, each saying which."""
    return {key: replace(figure, says=f"{figure.says}, α = {alpha:.3f}") for key, figure in figures.items()}


def refuse_equal_names(alphas: Sequence[float]) -> None:
    """Exponents that figures and runs cannot tell apart.

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
    """The run of a level and a seed, which draws supports, networks, batches and panel anew."""
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
