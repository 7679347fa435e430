"""The part of the audit that a measurement can afford: whether the members of a trajectory are where they belong.

Whatever is measured between checkpoints takes an exchanged member for learning. A sound series that oscillates may
look as if members were exchanged, so these findings are a warning and not an error.
"""

import numpy as np

from quantascope.training.digest import tensor_digest
from quantascope.training.placement import Member, identical, out_of_place
from quantascope.training.sketch import sketch
from quantascope.training.trajectory import Trajectory

MOST_MEMBERS = 400
"""With more members, their order is not judged here: the search for exchanged ones would take minutes."""


def doubts(trajectory: Trajectory) -> str | None:
    """The first finding about the order or origin of checkpoints, and how many more there are; None without any.

    Each checkpoint is read once. Raises if one is damaged, or of another shape.
    """
    trajectory.check()
    members: list[Member] = []
    if len(trajectory) > MOST_MEMBERS:
        return None
    for index, step in enumerate(trajectory.steps.tolist()):
        tensors = trajectory.load(index)
        own = sketch(tensors)
        if np.isfinite(own.matrices.sum() + own.others.sum()):  # measuring refuses the others by name
            members.append(Member(step, tensor_digest(tensors), own, None))
    findings = [*identical(members), *out_of_place(members)]
    if not findings:
        return None
    more = len(findings) - 1
    return findings[0].says + (f", and {more} more finding{'s' * (more > 1)}" if more else "")
