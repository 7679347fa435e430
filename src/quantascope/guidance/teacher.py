"""Whether a teacher may teach: a Q-model that has not learned its program harms its student."""

import warnings

from quantascope.qmodel.compiled.fit import CompiledRun
from quantascope.qmodel.compiled.knowledge import training_exact
from quantascope.runs.errors import InvalidConfig

LEAST_EXACT = 0.9
"""The share of its own training inputs that a teacher must answer exactly.

Q-models that train well answer nearly all of them. On clock times, one that answered 37 % left its student at 50 %
of new times, where the same network reached 89 % without a teacher.
"""


def check_teacher(teacher: CompiledRun, *, weak_teacher: bool = False) -> None:
    """Ask the teacher its own training inputs; refuse a weak one, or warn if a weak teacher is asked for."""
    known = training_exact(teacher.model, teacher.taught, teacher.config.trained_on)
    if known >= LEAST_EXACT:
        return
    says = f"the teacher answers only {known:.1%} of its own training inputs, below {LEAST_EXACT:.0%}"
    if not weak_teacher:
        raise InvalidConfig(
            f"{says}, and may harm its student; train it longer or with another seed (quantascope train "
            "compiled), or give --weak-teacher"
        )
    warnings.warn(f"{says}; its student may learn less than without it", stacklevel=2)
