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
    """Simulate Q-dynamics on a regular forest with prescribed demand, without a network.

    All nodes of one depth form one class, so a billion quanta cost as much as ten. Each row also gives the scaling
    exponent fitted to a forest that ends at that depth; it does not depend on the clock.

    Args:
        roots: Trees in the forest.
        branching: Children of a node.
        depth: Deepest level.
        alpha: Demand exponent; closure demand falls as branching^-(1 + alpha) per level.
        clock: Advance every accessible quantum at once, or only the one with the highest priority.
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
