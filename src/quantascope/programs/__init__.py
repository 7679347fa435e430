"""Programs that come with quantascope, and how to find any other.

Each is one file as a user would write it: quanta, entry, and the task with its panels.
"""

import importlib
import inspect
from pathlib import Path
from types import ModuleType

from quantascope.program import Program
from quantascope.program.source import load_module, program_in, split_entry
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.sequence import SequenceTask

BUILT_IN = ("english", "french", "addition", "roman", "clock", "inflection", "mistaken_inflection")
NUMBER_NAMING = "number-naming"
"""The task of the paper's source, which the English program writes too."""
TASKS = {NUMBER_NAMING: "quantascope.tasks.number_naming.task", "spelling": "quantascope.tasks.spelling.task"}
"""Tasks without a program, and the modules that hold them."""


def find_program(where: str) -> Program:
    """A program by name, or by `FILE.py` or `FILE.py:entry`.

    >>> find_program("addition").name
    'predict'
    """
    module, entry = _module(where)
    name = split_entry(where)[0]
    return program_in(module, entry, name if name in BUILT_IN else None)


def find_task(where: str) -> SequenceTask:
    """A task by name, or that of `FILE.py`, found there as `task` or, as in `FILE.py:name`, by its name.

    >>> find_task("number-naming").end
    'EOS'
    """
    if where in TASKS:
        return importlib.import_module(TASKS[where]).task
    name = split_entry(where)[0]
    if name not in BUILT_IN and not name.endswith(".py"):
        known = ", ".join((*TASKS, *BUILT_IN))
        raise InvalidConfig(f"there is no task '{name}'; give a file FILE.py:NAME, or one of {known}")
    module, named = _module(where)
    task = getattr(module, named or "task", None)
    if isinstance(task, Program):  # FILE.py:entry asks for the task of the program
        task = getattr(module, "task", None)
    if not isinstance(task, SequenceTask):
        file = Path(module.__file__ or where).name
        if named and not isinstance(getattr(module, named, None), Program):
            raise InvalidConfig(f"{file} has no task '{named}'; let it hold `{named} = SequenceTask(…)`")
        raise InvalidConfig(f"{file} has no task; let it hold `task = SequenceTask(…)`, or name it: {file}:NAME")
    return task


def program_text(name: str) -> str:
    """The text of a program that comes with quantascope."""
    module, _ = _module(name)
    return inspect.getsource(module)


def is_built_in(where: str) -> bool:
    """Whether a program or task comes with quantascope, so that nothing of the user's runs."""
    return split_entry(where)[0] in (*TASKS, *BUILT_IN)


def _module(where: str) -> tuple[ModuleType, str | None]:
    name, entry = split_entry(where)
    if name in BUILT_IN:
        return importlib.import_module(f"{__name__}.{name}"), entry
    if not name.endswith(".py"):
        raise InvalidConfig(f"there is no program '{name}'; give a file FILE.py, or one of {', '.join(BUILT_IN)}")
    return load_module(Path(name)), entry
