"""The view of a program: text and graph always, execution only of what may run."""

import json
import shutil
from pathlib import Path

import pytest

from quantascope.explorer.explorer import Explorer
from quantascope.explorer.open import open_runs
from quantascope.program.declared import declared_quanta
from quantascope.programs import find_program, program_text
from quantascope.qmodel.compiled.program_task import program_task
from quantascope.runs.artefact import write_record
from quantascope.runs.config import fingerprint
from quantascope.runs.errors import InvalidConfig, QuantascopeError


@pytest.fixture(scope="module")
def get(getter, compiled_run):
    return getter(Explorer(open_runs([str(compiled_run)]), ""))


def test_the_graph_is_that_of_the_compiled_program(get):
    shown, graph = get("runs/0/program"), program_task("roman").compiled.graph
    assert [(one["name"], one["level"]) for one in shown["quanta"]] == list(
        zip(graph.names, graph.levels, strict=True)
    )
    assert {(edge["from"], edge["to"]) for edge in shown["edges"]} == {
        (graph.names[edge.parent], graph.names[edge.child]) for edge in graph.edges
    }
    assert {edge["kind"] for edge in shown["edges"]} == {"data", "control", "both"}
    assert {one["name"] for one in shown["quanta"] if one["emitter"]} == {"EMIT_LETTER", "EMIT_END"}
    assert shown["runs"]


def test_each_quantum_stands_beside_its_text(get):
    lines = program_text("roman").splitlines()
    for one in get("runs/0/program")["quanta"]:
        first, *_ = one["source"].splitlines()
        assert lines[one["line"] - 1] == first
        assert f'"{one["name"]}"' in one["source"]
    cardinalities = {quantum.name: quantum.output_cardinality for quantum in find_program("roman").registry.quanta}
    assert {one["name"]: one["cardinality"] for one in get("runs/0/program")["quanta"]} == cardinalities


def test_an_input_is_executed_with_values_and_guards(get):
    shown = get("runs/0/execute", input="1984")
    assert "".join(shown["output"][:-1]) == "MCMLXXXIV"
    first, last = shown["steps"][0], shown["steps"][-1]
    values = {one["name"]: one["value"] for one in first["quanta"]}
    assert (values["THOUSANDS"], values["HUNDREDS"], values["PLACE"], values["EMIT_END"]) == (
        "1",
        "9",
        "THOUSANDS",
        None,
    )
    assert [(one["on"], one["case"], one["holds"]) for one in first["guards"]] == [
        (["DONE"], "True", False),
        (["DONE"], "False", True),
    ]
    assert (first["emitter"], last["emitter"]) == ("EMIT_LETTER", "EMIT_END")
    assert [one["holds"] for one in last["guards"]] == [True]


def test_labels_and_gates_stand_beside_the_values(get):
    labels = program_task("roman").compiled.trace([7]).labels
    shown = get("runs/0/execute", input="7")
    for event, step in enumerate(shown["steps"]):
        assert [one["active"] for one in step["quanta"]] == labels.active[event].tolist()
        assert [one["eligible"] for one in step["quanta"]] == labels.eligible[event].tolist()
        assert all((one["value"] is not None) == one["active"] for one in step["quanta"])
        assert all(0 <= one["gate"] <= 1 for one in step["quanta"])
    assert len(shown["qmodel_output"]) == len(shown["output"])


def test_an_input_that_the_task_cannot_ask_is_refused(get):
    for text in ("0", "abc", "99999"):
        with pytest.raises(QuantascopeError):
            get("runs/0/execute", input=text)


@pytest.fixture
def forged(compiled_run, tmp_path):
    """A run that says it was made with a file of its own, which leaves a trace when it is executed."""
    run = shutil.copytree(compiled_run, tmp_path / "forged")
    hostile = run / "program.py"
    hostile.write_text(
        f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n{program_text('roman')}"
    )
    about = json.loads((run / "config.json").read_text())
    about["config"]["program"] = str(hostile)
    del about["digest"], about["hash"]
    made_by = fingerprint(about["config"])
    write_record(run / "config.json", about, made_by=made_by)
    return run


def test_a_program_that_a_run_brings_is_shown_and_never_executed(forged, getter, tmp_path):
    opened = open_runs([str(forged)])
    assert not opened[0].may_run
    assert "THOUSANDS" in opened[0].declared
    with pytest.raises(InvalidConfig, match="files run only if named"):
        getter(Explorer(opened, ""))("runs/0/execute", input="7")
    assert not (tmp_path / "ran").exists()


def test_another_file_than_the_kept_one_is_not_executed(forged, getter, tmp_path):
    other = tmp_path / "other.py"
    other.write_text(program_text("roman"))
    with pytest.raises(QuantascopeError, match="is not the file that"):
        getter(Explorer(open_runs([str(forged)], program=str(other)), ""))("runs/0/execute", input="7")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("text", ["def", "(" * 100_000, "\x00", "x = " + "-" * 100_000 + "1", "\ud800"])
def test_a_text_that_is_no_program_is_refused_in_one_line(text):
    with pytest.raises(InvalidConfig) as refused:
        declared_quanta(text)
    assert "\n" not in str(refused.value)


def test_quanta_that_are_declared_without_a_decorator_are_found():
    text = 'r = Registry()\nodd = r.quantum("ODD", output_cardinality=n)(lambda: 1)\n'
    found = declared_quanta(text)
    assert (found["ODD"].line, found["ODD"].cardinality) == (2, None)
    assert found["ODD"].text == text.splitlines()[1]


def test_a_damaged_text_leaves_the_graph(forged, getter):
    (Path(forged) / "program.py").write_text("def")
    opened = open_runs([str(forged)])
    with pytest.raises(InvalidConfig, match="is not valid Python"):
        _ = opened[0].declared
