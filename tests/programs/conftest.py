from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import quantascope.programs
from quantascope.program import CompiledProgram, compile_program
from quantascope.programs import find_program


@pytest.fixture(scope="session")
def compiled() -> Callable[[str], CompiledProgram]:
    """Programs that come with quantascope, from their files: there, no type checks slow their quanta down."""
    folder = Path(quantascope.programs.__file__).parent
    return cache(lambda name: compile_program(find_program(f"{folder / name}.py")))
