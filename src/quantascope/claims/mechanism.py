"""Exponents side by side: of the law, of the finite system, and measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from quantascope.claims.result import Estimate
from quantascope.claims.scoreboard import Row, number


@dataclass(frozen=True)
class Mechanism:
    """The mechanism tested at one level: exponents of the law, of the finite system, and measured."""

    claim: str
    level: str
    target: Estimate
    predicted: Estimate
    measured: Estimate

    def cells(self) -> list[str]:
        """Claim, target, prediction and measurement as text, with intervals."""
        shown = [number(self.target.mean)]
        for estimate in (self.predicted, self.measured):
            between = f" [{number(estimate.low)}, {number(estimate.high)}]" if estimate.low is not None else ""
            shown.append(f"{number(estimate.mean)}{between}")
        return [self.claim, *shown]


MECHANISM_COLUMNS = ("claim", "law", "finite system at measured K", "measured")


def mechanism(rows: Sequence[Row]) -> list[Mechanism]:
    """The claims that compare a law with a finite-system prediction, level by level."""
    estimates = {(row.claim, row.figure): row.estimate for row in rows if row.estimate}
    found: list[Mechanism] = []
    for (claim, figure), measured in estimates.items():
        level = figure.removeprefix("exponent_")
        target, predicted = estimates.get((claim, f"target_{level}")), estimates.get((claim, f"predicted_{level}"))
        if figure.startswith("exponent_") and target and predicted:
            found.append(Mechanism(claim, level, target, predicted, measured))
    return found
