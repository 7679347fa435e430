"""What the construction of HSP fixes exactly: demand, query mass, conditional losses (appendices A.2, C and D).

No network is trained. The counts and probabilities are those of forests that are really built.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from quantascope.claims.claim import exact_claim
from quantascope.claims.result import Estimate
from quantascope.runs.config import Config, Count, Distinct, Positive, PositiveFloat
from quantascope.tasks.hsp import ClosureDemand, Forest, RegularFamily, build_forest
from quantascope.theory import conditional_losses, exponent, nand_path


class HSPDemand(Config):
    """The forests of the scaling experiments."""

    roots: Positive = 8
    branching: Positive = 2
    depths: Annotated[tuple[Count, ...], Distinct] = (5, 8)
    betas: Annotated[tuple[PositiveFloat, ...], Distinct] = (2.29739671, 2.37841423, 2.53)


def forest_of(config: HSPDemand, depth: int) -> Forest:
    """A forest of the paper's demand with β = ρ^1.2."""
    demand = ClosureDemand(beta=config.branching**1.2)
    return build_forest(RegularFamily(roots=config.roots, branching=config.branching, depth=depth, demand=demand))


def measure(config: HSPDemand, evidence: Mapping[str, Any]) -> dict[str, Estimate]:
    """Exact facts, each a single value."""
    forests = {depth: forest_of(config, depth) for depth in config.depths}
    first = forests[config.depths[0]]
    nand = conditional_losses(nand_path(1), arity=2)
    facts = {
        "leaf_mass": ("share of queries at leaves", first.query[first.depth == config.depths[0]].sum()),
        "query_mass": ("sum of the query probabilities", first.query.sum()),
        "nand_bits_none_known": ("loss of a NAND with neither input known, bits", nand.loss(set())),
        "nand_bits_one_known": ("loss of a NAND with one input known, bits", nand.loss({0})),
        "nand_bits_both_known": ("loss of a NAND with both inputs known, bits", nand.loss({0, 1})),
    }
    for depth, forest in forests.items():
        facts[f"tasks_depth_{depth}"] = (f"tasks of a forest of depth {depth}", len(forest.tasks))
    for beta in config.betas:
        key = f"alpha_at_beta_{beta:.9g}".replace(".", "_")
        facts[key] = (f"demand exponent at β = {beta:.9g}", exponent(config.branching, beta))
    return {key: Estimate.over_runs(says, [value]) for key, (says, value) in facts.items()}


CLAIM = exact_claim(
    name="hsp-demand",
    says="the construction of HSP prescribes demand, query mass and conditional losses exactly",
    config=HSPDemand(),
    measure=measure,
)
