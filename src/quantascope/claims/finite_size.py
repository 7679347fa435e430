"""How the fitted exponent of a forest approaches the prescribed one as the forest grows, by Q-dynamics.

No network is trained. Depth classes make a billion quanta as cheap as ten; a test compares them with the explicit
simulator at sizes where both run.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from quantascope.claims.claim import exact_claim
from quantascope.claims.demand_level import BETAS, at_alpha, key_of
from quantascope.claims.result import Estimate
from quantascope.runs.config import Config, Count, Distinct, Positive, PositiveFloat
from quantascope.theory import exponent, forest_size
from quantascope.theory.finite_size import REACH, SizeBias, size_biases


class FiniteSize(Config):
    """Depths of the forests; the fit begins when all roots are known and ends at a share `reach` of all quanta."""

    roots: Positive = 8
    branching: Annotated[int, Field(ge=2)] = 2
    betas: Annotated[tuple[PositiveFloat, ...], Distinct] = BETAS
    shallowest: Count = 3
    deepest: Count = 27
    reach: Annotated[float, Field(gt=0, lt=1)] = REACH

    @model_validator(mode="after")
    def _refuse_no_forest(self) -> "FiniteSize":
        if not 2 <= self.shallowest < self.deepest:
            raise ValueError(f"depths {self.shallowest} to {self.deepest} are no range; start at 2 or deeper")
        forest_size(self.roots, self.branching, self.deepest)  # refuses what no simulation holds
        return self


def biases(config: FiniteSize, beta: float) -> list[SizeBias]:
    """The fitted exponents at one level of demand."""
    return list(
        size_biases(
            roots=config.roots,
            branching=config.branching,
            depths=range(config.shallowest, config.deepest + 1),
            alpha=exponent(config.branching, beta),
            reach=config.reach,
        )
    )


def measure(config: FiniteSize, evidence: Mapping[str, Any]) -> dict[str, Estimate]:
    """Exact facts: the exponent fitted at round sizes, and the size at which its bias is below five percent."""
    figures: dict[str, Estimate] = {}
    over = Estimate.over_runs
    for beta in config.betas:
        alpha, found = exponent(config.branching, beta), biases(config, beta)
        key, level = key_of(alpha), {}
        for power in (2, 4, 6, 9):
            nearest = min(found, key=lambda one, power=power: abs(np.log10(one.quanta) - power))
            for order in ("compositional", "direct"):
                level[f"{order}_{key}_at_1e{power}"] = over(
                    f"exponent fitted to {nearest.quanta:,} quanta, {order} order", [getattr(nearest, order)]
                )
        for order in ("compositional", "direct"):
            enough = [one.quanta for one in found if abs(getattr(one, order) / alpha - 1) < 0.05]
            level[f"{order}_{key}_within_5_percent"] = over(
                f"quanta from which the fitted exponent is within 5 % of α, {order} order",
                [float(min(enough)) if enough else np.nan],
                "quanta",
            )
        figures |= at_alpha(alpha, level)
    return figures


CLAIM = exact_claim(
    name="finite-size",
    says="the exponent fitted to a finite forest nears that of its demand as the forest grows",
    config=FiniteSize(),
    measure=measure,
)
