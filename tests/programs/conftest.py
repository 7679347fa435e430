from pathlib import Path

import pytest

import quantascope.programs
from quantascope.program import CompiledProgram, compile_program
from quantascope.programs import BUILT_IN, find_program


@pytest.fixture(scope="session")
def compiled() -> dict[str, CompiledProgram]:
    """Every program that comes with quantascope, from its file: there, no type checks slow its quanta down."""
    folder = Path(quantascope.programs.__file__).parent
    return {name: compile_program(find_program(f"{folder / name}.py")) for name in BUILT_IN}
