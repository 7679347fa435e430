"""Whether a teacher may teach: a Q-model that has not learned its program harms its student."""

import warnings

from quantascope.qmodel.compiled.fit import CompiledRun
from quantascope.qmodel.compiled.knowledge import audit_exact, training_exact
from quantascope.runs.errors import InvalidConfig

LEAST_TRAINING_EXACT = 0.9
"""The share of its own training inputs that a teacher must answer exactly.

Q-models that train well answer nearly all of them. On clock times, one that answered 37 % left its student at 50 %
of new times, where the same network reached 89 % without a teacher.
"""
LEAST_AUDIT_EXACT = 0.5
"""The share of inputs of the audit domain, not trained on, that it must answer as its program does.

A Q-model may know its training inputs by heart, and not the program: of clock times, after 100 examples, all of
its own and 18 % of others. Of four teachers that answered 3 to 25 % of new times, two cost their students 25
points; teachers that answered 79 % or more never cost more than three.
"""


def check_teacher(teacher: CompiledRun, *, weak_teacher: bool = False) -> None:
    """Ask what the teacher knows; refuse a weak one, or warn if a weak teacher is asked for."""
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
    """What a teacher does not know, if it is too much."""
    asked = teacher.model, teacher.taught, teacher.config.trained_on
    known = training_exact(*asked)
    if known < LEAST_TRAINING_EXACT:
        return f"only {known:.1%} of its own training inputs, below {LEAST_TRAINING_EXACT:.0%}"
    known = audit_exact(*asked)
    if known is not None and known < LEAST_AUDIT_EXACT:
        return f"only {known:.1%} of new inputs as its program does, below {LEAST_AUDIT_EXACT:.0%}"
    return None
