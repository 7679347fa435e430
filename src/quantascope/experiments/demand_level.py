"""The demand exponents that the scaling claims prescribe, and the runs at each of them."""

from quantascope.config import Config, Positive, PositiveFloat
from quantascope.experiments.cohort_learner import CohortLearner
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
    "predicted": "exponent that Q-dynamics foretells for this forest at the measured K",
    "predicted_direct": "the same if every function is learned as a shortcut",
    "predicted_soft": "the same at the soft count in place of K (added after the runs were seen)",
    "reconstructed": "exponent of the loss of the functions that were really acquired",
    "fractional": "the same if functions count by their coefficients (added after the runs were seen)",
}
"""What the exponent of the loss is compared with."""


def key_of(alpha: float) -> str:
    """How figures name an exponent.

    >>> key_of(0.2), key_of(0.339137)
    ('0_20', '0_339')
    """
    text = f"{alpha:.3f}"
    return text.removesuffix("0").replace(".", "_")


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
