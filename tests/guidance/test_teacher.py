"""What a Q-model knows of its program, and which teachers are refused."""

import json
import shutil
import warnings

import pytest
import torch

from quantascope.cli import main
from quantascope.guidance.teacher import check_teacher, weakness
from quantascope.qmodel import CompiledConfig, CompiledQModel, QExecution, SupervisedQModel
from quantascope.qmodel.compiled.fit import read_compiled
from quantascope.qmodel.compiled.knowledge import (
    Knowledge,
    gate_agreement,
    measure_knowledge,
    unlabelled,
    value_agreement,
)
from quantascope.qmodel.compiled.program_task import program_task
from quantascope.runs.errors import InvalidConfig


@pytest.fixture
def untrained(teacher, program, tmp_path):
    """The teacher's run with weights that know nothing."""
    run = shutil.copytree(teacher, tmp_path / "untrained")
    found = read_compiled(run, program=program)
    torch.nn.init.zeros_(found.model.head.weight)
    return found


def test_the_audit_inputs_that_are_asked_are_new_few_and_answered_by_the_program(program):
    taught = program_task(program)
    asked = unlabelled(taught, "training")
    new = [*range(10), *range(60, 100)]
    assert asked.events.tokens.tolist() == taught.task.events(new).tokens.tolist()
    assert torch.equal(asked.events.target, taught.task.events(new).target)
    some = unlabelled(taught, "training", most=9)
    every, few = (
        [tuple(token for token in row if token) for row in one.events.tokens.tolist()] for one in (asked, some)
    )
    assert len(few) == len(set(few)) == 9
    assert set(few) < set(every)


def test_audit_inputs_that_the_task_cannot_ask_are_left_out(program_text, tmp_path):
    file = tmp_path / "long.py"
    file.write_text(program_text.replace("audit=range(100)", "audit=[10, 7, 123456]").replace("=8", "=6"))
    asked = unlabelled(program_task(str(file)), "training")
    assert asked.events.length.tolist() == [4]
    file.write_text(program_text.replace("audit=range(100)", "audit=[10, 7, -1]"))
    assert unlabelled(program_task(str(file)), "training").events.length.tolist() == [4]  # all but -1
    file.write_text(program_text.replace("audit=range(100)", "audit=[10, 11]"))
    assert unlabelled(program_task(str(file)), "training") is None


def test_a_network_that_does_as_the_program_does_agrees_in_all_and_one_that_does_not_in_as_much_as_it_does(
    program,
):
    taught = program_task(program)
    asked, graph = unlabelled(taught, "training"), taught.compiled.graph
    outcomes = tuple(map(len, taught.compiled.outcomes))
    model = CompiledQModel(graph=graph, vocabulary=16, positions=8, config=CompiledConfig(width=2), seed=0)
    supervised = SupervisedQModel(model, outcomes, seed=0)
    assert [graph.names[quantum] for quantum in supervised.taught] == ["STAGE", "PARITY"]
    with torch.no_grad():
        supervised.weight.zero_()
        supervised.bias.zero_()
        supervised.weight[:, :2, :2] = torch.eye(2)
    message = torch.nn.functional.one_hot(asked.outcome.clamp(min=0, max=1), 2).float()
    run = QExecution(torch.zeros(asked.events.count, 16), *2 * [asked.active.float()], message, message)
    assert gate_agreement(run.activity, asked) == pytest.approx(1.0)
    assert value_agreement(supervised, run, asked) == 1.0
    # PARITY says the opposite of what it found, and STAGE what it found.
    parity = graph.names.index("PARITY")
    message[parity] = message[parity].flip(-1)
    assert value_agreement(supervised, run, asked) == 0.5
    # Always open: right for STAGE, and in half of the decisions on each of the other four, which may stay closed.
    assert gate_agreement(torch.ones(5, asked.events.count), asked) == pytest.approx((1 + 4 * 0.5) / 5)


def test_a_compiled_run_says_what_it_knows(teacher, program, short, capsys):
    command = ["train", "compiled", "--program", program, "--out", str(teacher), "--set", *short]
    assert main([*command, "--json"]) == 0
    known = json.loads(capsys.readouterr().out)["knowledge"]
    assert (known["training_exact"], known["audit_inputs"]) == (1.0, 50)
    assert known.items() <= json.loads((teacher / "knowledge.json").read_text()).items()
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "training_exact                   100.0%" in said
    assert "note  audit: 50 inputs of the program's audit domain that were not trained on" in said


def test_an_older_run_that_does_not_say_is_still_read(teacher, program, tmp_path):
    run = shutil.copytree(teacher, tmp_path / "old")
    (run / "knowledge.json").unlink()
    found = read_compiled(run, program=program)
    assert found.knowledge is None
    assert weakness(found) is None


def test_knowledge_without_audit_inputs_has_no_shares(program, teacher, program_text, tmp_path):
    file = tmp_path / "small.py"
    file.write_text(program_text.replace("audit=range(100)", "audit=range(10, 60)"))
    found, taught = read_compiled(teacher, program=program), program_task(str(file))
    supervised = SupervisedQModel(found.model, tuple(map(len, taught.compiled.outcomes)), seed=0)
    assert measure_knowledge(supervised, taught, "training") == Knowledge(training_exact=1.0)


def test_a_teacher_that_has_not_learned_its_program_is_refused_or_warned_of(untrained):
    with pytest.raises(
        InvalidConfig, match=r"answers only 0\.0% of its own training inputs.* or give --weak-teacher"
    ):
        check_teacher(untrained)
    with pytest.warns(UserWarning, match="its student may learn less than without it"):
        check_teacher(untrained, weak_teacher=True)


def test_a_teacher_that_knows_its_examples_by_heart_alone_is_refused(teacher, program, monkeypatch):
    found = read_compiled(teacher, program=program)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_teacher(found)
    monkeypatch.setattr("quantascope.guidance.teacher.audit_exact", lambda *_: 0.49)
    with pytest.raises(InvalidConfig, match=r"only 49\.0% of new inputs as its program does, below 50%"):
        check_teacher(found)


def test_guide_refuses_a_weak_teacher_before_its_student_is_trained(program, tmp_path, failing):
    weak = ["--set", "training.steps=5", "model.blocks=3", "teacher.training.steps=2", "teacher.model.width=4",
            "teacher.training.schedule.decay=none"]  # fmt: skip
    line = failing("guide", "--program", program, "--out", tmp_path / "run", *weak)
    assert "of its own training inputs, below 90%" in line
    assert not (tmp_path / "run" / "model.safetensors").exists()
