import pytest

from quantascope.program import CompiledProgram, compile_program
from quantascope.programs import BUILT_IN, find_program


@pytest.fixture(scope="session")
def compiled() -> dict[str, CompiledProgram]:
    """Every program that comes with quantascope."""
    return {name: compile_program(find_program(name)) for name in BUILT_IN}
