"""The claims of the paper: one command reproduces each, one scoreboard shows them all.

A claim is a file here, named after it, a figure in `figures`, and a name in this list, in the order of the
scoreboard. The list loads nothing, so that the command line knows all names at once.
"""

from pathlib import Path

NAMES = (
    "flat-acquisition", "composed-staircase", "child-parent-order", "acquisition-clock", "hsp-demand",
    "parameter-scaling", "data-scaling", "joint-frontier", "finite-size", "number-naming-data", "recover-quanta",
    "ordering", "seed-stability", "support-transfer", "recovered-qmodel", "trusted-qmodel",
    "message-interventions", "source-faithfulness", "qmodel-frontier", "semantics", "traces", "compiled-qmodel",
    "guided-training", "guidance-data-efficiency", "guidance-other-programs", "guidance-reliability",
    "guidance-real-data", "guidance-content", "real-inflection", "real-spelling", "real-code",
)  # fmt: skip

RESULTS = Path(__file__).parents[1] / "results"
"""Folder of the committed results and the paper's figures, which ship with the package."""
