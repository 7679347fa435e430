"""Runs a user's code in a forked child process, which the parent can always terminate.

fork       the child has every object of the parent, so that nothing needs to be sent to it
progress   in shared memory, so that a C loop that never releases the interpreter is noticed too
limits     seconds without progress, memory beyond what the process has, bytes of output
result     pickled over a pipe; objects and classes that both processes have are sent by their address
end        the child writes its stack, then its whole process group is killed

The child runs only Python: it must not call torch, whose threads do not survive a fork. On systems without fork,
code runs in the same process and without limits.

>>> run_isolated(lambda progress: sum(range(10)), seconds=5.0)
45
"""

from quantascope.runs.isolation.ended import Crashed, Ended, Frame, TimedOut
from quantascope.runs.isolation.progress import Progress
from quantascope.runs.isolation.results import Unsendable, can_be_sent
from quantascope.runs.isolation.run import run_isolated, time_limit

__all__ = [
    "Crashed",
    "Ended",
    "Frame",
    "Progress",
    "TimedOut",
    "Unsendable",
    "can_be_sent",
    "run_isolated",
    "time_limit",
]
