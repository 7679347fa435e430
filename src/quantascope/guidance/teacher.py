"""Checks a teacher: a Q-model that has not learned its program harms its student."""

import warnings

from quantascope.qmodel.compiled.fit import CompiledRun
from quantascope.qmodel.compiled.knowledge import audit_exact, training_exact
from quantascope.runs.errors import InvalidConfig

LEAST_TRAINING_EXACT = 0.9
"""Least share of its training inputs that a teacher must answer exactly.

Q-models that train well answer nearly all of them. In trials on clock times, a student of a teacher that answered
few of them was worse than the same network without a teacher.
"""
LEAST_AUDIT_EXACT = 0.5
"""Least share of unseen inputs of the audit domain that it must answer as its program does.

A Q-model may memorize its training inputs without learning the program. In trials on clock times, teachers that
answered few new inputs harmed their students, and teachers that answered most of them hardly ever did.
"""


def check_teacher(teacher: CompiledRun, *, weak_teacher: bool = False) -> None:
    """Measure what the teacher knows; raise if it is weak, or warn if weak teachers are allowed."""
    complaint = weakness(teacher)
    if complaint is None:
        return
    if not weak_teacher:
        raise InvalidConfig(
            f"the teacher answers {complaint}, and may harm its student; train it longer, on more examples or "
            "with another seed (quantascope train compiled), or give --weak-teacher"
        )
    warnings.warn(f"the teacher answers {complaint}; its student may learn less than without it", stacklevel=2)


def weakness(teacher: CompiledRun) -> str | None:
    """A description of what a teacher does not know, if that is too much; else None."""
    asked = teacher.model, teacher.taught, teacher.config.trained_on
    known = training_exact(*asked)
    if known < LEAST_TRAINING_EXACT:
        return f"only {known:.1%} of its own training inputs, below {LEAST_TRAINING_EXACT:.0%}"
    known = audit_exact(*asked)
    if known is not None and known < LEAST_AUDIT_EXACT:
        return f"only {known:.1%} of new inputs as its program does, below {LEAST_AUDIT_EXACT:.0%}"
    return None
