"""A program of parities in a file, its Q-model, and the command line as a user meets it."""

from pathlib import Path

import pytest

from quantascope.cli import main

PROGRAM = """
from quantascope.program import Registry, when
from quantascope.tasks.sequence import SequenceTask

registry = Registry()
stage = registry.quantum("STAGE", output_cardinality=2)(lambda position: min(position, 1))
parity = registry.quantum("PARITY", output_cardinality=2)(lambda number: number % 2)
even = registry.quantum("EVEN", output_cardinality=1)(lambda: "even")
odd = registry.quantum("ODD", output_cardinality=1)(lambda: "odd")
end = registry.quantum("END", output_cardinality=1)(lambda: ".")


@registry.entry(audit=range(100), vocabulary=["even", "odd", "."], end=".")
def predict(state):
    now = stage(state.position)
    with when(now, 1) as over:
        if over:
            return end()
    with when(now, 0) as begins:
        if begins:
            last = parity(state.source)
            with when(last, 0) as is_even:
                if is_even:
                    return even()
            with when(last, 1) as is_odd:
                if is_odd:
                    return odd()


task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", ".", "even", "odd", *"0123456789"),
    positions=8,
    prompt=str,
    answer=predict.write,
    panels={"training": lambda: tuple(range(10, 60)), "evaluation": lambda: tuple(range(60, 100))},
)
"""
SHORT = ["training.steps=150", "training.schedule.decay_from=75", "model.width=16"]


@pytest.fixture(scope="session")
def program_text() -> str:
    return PROGRAM


@pytest.fixture(scope="session")
def short() -> list[str]:
    """Settings under which the Q-model learns its program in a second."""
    return SHORT


@pytest.fixture(scope="session")
def program(tmp_path_factory) -> str:
    file = tmp_path_factory.mktemp("program") / "parity.py"
    file.write_text(PROGRAM)
    return str(file)


@pytest.fixture(scope="session")
def teacher(program, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("compiled") / "run"
    assert main(["train", "compiled", "--program", program, "--out", str(out), "--set", *SHORT]) == 0
    return out


@pytest.fixture
def failing(capsys):
    def run(*arguments: object) -> str:
        assert main(list(map(str, arguments))) == 2
        return capsys.readouterr().err.splitlines()[-1]

    return run
