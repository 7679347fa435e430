"""The command that simulates Q-dynamics."""

from typing import Literal

from quantascope.cli.arguments import print_json


def simulate(
    roots: int = 8,
    branching: int = 2,
    depth: int = 5,
    alpha: float = 0.2,
    clock: Literal["parallel", "sequential"] = "parallel",
    json: bool = False,
) -> None:
    """Run Q-dynamics on a regular forest with prescribed demand: no network, any size.

    Nodes of one depth are one class, so a billion quanta cost as much as ten. Beside each depth stands the
    exponent that one would fit to a forest that ends there; the clock has no effect on it.

    Args:
        roots: Trees in the forest.
        branching: Children of a node.
        depth: Deepest level.
        alpha: Demand exponent; closure demand falls as branching^-(1 + alpha) per level.
        clock: Every accessible quantum advances at once, or the one of highest priority alone.
        json: Print the classes as JSON.
    """
    from quantascope.report.tables import print_simulation, simulation_rows
    from quantascope.theory import parallel_classes, prescribed_classes, sequential_classes, size_biases

    classes = prescribed_classes(roots=roots, branching=branching, depth=depth, alpha=alpha)
    outcome = parallel_classes(classes) if clock == "parallel" else sequential_classes(classes)
    depths = range(2, depth + 1)
    sizes = {s.depth: s for s in size_biases(roots=roots, branching=branching, depths=depths, alpha=alpha)}
    if json:
        print_json({"quanta": int(classes.counts.sum()), "classes": simulation_rows(outcome, sizes)})
    else:
        print_simulation(outcome, sizes, alpha)
