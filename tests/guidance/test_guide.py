"""Compiled Q-models and guided Transformers from a program of one's own."""

import json
import subprocess
import sys

import pytest
import torch
from torch import nn

from quantascope.claims.guidance_runs import GuidanceRuns, check_guidance_runs, learn_guidance_runs, seeded
from quantascope.cli import main
from quantascope.guidance.alignment import event_updates
from quantascope.guidance.guide import fresh_network, learn_guided
from quantascope.guidance.learner import GuidedLearner
from quantascope.guidance.network import build_network
from quantascope.guidance.target import guidance_of, lessons_of
from quantascope.models import Transformer
from quantascope.models.saved_transformer import load_transformer
from quantascope.qmodel.compiled.fit import fresh_qmodel, learn_compiled, read_compiled
from quantascope.qmodel.compiled.program_task import program_task
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch


def guided(program: str, **changes) -> GuidedLearner:
    settings = {"teacher.program": program, "teacher.model.width": 16, "teacher.training.steps": 150,
                "teacher.training.schedule.decay_from": 75, "training.steps": 60, "model.blocks": 4}  # fmt: skip
    return GuidedLearner().replace(
        {**settings, **{key.replace("__", "."): value for key, value in changes.items()}}
    )


def network_of(learner: GuidedLearner) -> Transformer:
    task = program_task(learner.teacher.program).task
    return build_network(learner.model, task, seed=learner.seed)


def test_a_compiled_model_learns_its_program(teacher, program):
    done = read_compiled(teacher, program=program)
    assert done.accuracy["evaluation_exact"] == done.accuracy["evaluation_exact_oracle"] == 1.0
    supervision = program_task(done.config.program).supervision("evaluation")
    with torch.no_grad():
        activity = done.model.run(supervision.events).activity
    assert ((activity > 0.5) == supervision.active).float().mean() > 0.99


def test_a_second_call_reads_what_is_there(teacher, program, short, capsys):
    before = (teacher / "qmodel.safetensors").stat().st_mtime_ns
    assert main(["train", "compiled", "--program", program, "--out", str(teacher), "--json", "--set", *short]) == 0
    assert json.loads(capsys.readouterr().out)["evaluation_exact"] == 1.0
    assert (teacher / "qmodel.safetensors").stat().st_mtime_ns == before


def test_a_run_keeps_its_program_and_refuses_another_text(program_text, tmp_path, failing):
    file, out = tmp_path / "mine.py", tmp_path / "run"
    file.write_text(program_text)
    command = ["train", "compiled", "--program", str(file), "--out", str(out), "--set", "training.steps=2",
               "training.schedule.decay_from=1", "model.width=8"]  # fmt: skip
    assert main(command) == 0
    assert (out / "program.py").read_text() == program_text
    file.write_text(program_text + "# another\n")
    assert f"{file} has changed since" in failing(*command)


@pytest.mark.filterwarnings("default")
def test_guidance_runs_from_the_command_line_and_trains_its_teacher_if_none_is_given(program, tmp_path, capsys):
    small = ["training.steps=20", "model.blocks=3", "teacher.training.steps=2", "teacher.model.width=16",
             "teacher.training.schedule.decay_from=1"]  # fmt: skip
    out = tmp_path / "run"
    command = ["guide", "--program", program, "--out", str(out), "--json", "--seed", "3"]
    assert main([*command, "--weak-teacher", "--set", *small]) == 0
    said = capsys.readouterr()
    assert "warning: the teacher answers only 0.0% of its own training inputs, below 90%" in said.err
    assert set(json.loads(said.out)) == {"run", "evaluation_exact"}
    assert read_compiled(out / "teacher", program=program).config.seed == 3


def test_guidance_lowers_the_alignment_error_and_starts_from_the_same_network(program, teacher, tmp_path):
    run = read_compiled(teacher, program=program)
    learners = {weight: guided(program, weight=weight) for weight in (0.0, 1.0)}
    taught = program_task(program)
    first, second = map(network_of, learners.values())
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    asked = taught.supervision("training")
    guidance = guidance_of(learners[1.0], run, taught, first)
    error = {}
    for weight, learner in learners.items():
        model = learn_guided(learner, tmp_path / str(weight), run if weight else None).model
        with torch.no_grad():
            error[weight] = float(guidance.alignment(event_updates(model.run(asked.events), asked.events)))
    assert error[1.0] < 0.5 * error[0.0]


def test_prompts_are_aligned_along_the_teachers_words_and_not_learned(program, teacher, tmp_path):
    run, taught = read_compiled(teacher, program=program), program_task(program)
    learner = guided(program, prompts="evaluation")
    batches = lessons_of(learner, run, taught, network_of(learner))
    trained = taught.task.events(taught.task.panel("training"))
    assert [(len(batch.events), batch.answered) for batch in batches] == [(90, trained.count)]
    asked = taught.task.events(taught.task.panel("evaluation"))
    assert torch.equal(batches[0].events.target, torch.cat([trained.target, asked.target]))
    assert learn_guided(guided(program, prompts="evaluation"), tmp_path / "run", run).accuracy


def test_a_model_that_is_gone_is_made_again_from_its_run(program, teacher, tmp_path):
    whole = read_compiled(teacher, program=program)
    (teacher / "qmodel.safetensors").unlink()
    with pytest.raises(DamagedArtefact, match=r"train compiled --out .* resumes it"):
        read_compiled(teacher, program=program)
    again = learn_compiled(whole.config, teacher)
    assert (again.accuracy, again.knowledge) == (whole.accuracy, whole.knowledge)
    student = guided(program)
    done = learn_guided(student, tmp_path / "run", again)
    (tmp_path / "run" / "model.safetensors").unlink()
    assert learn_guided(student, tmp_path / "run", again).accuracy == done.accuracy


def test_what_cannot_be_guided_is_refused_before_the_run_is_made(program, teacher, tmp_path, failing):
    named = ("guide", "--teacher", str(teacher), "--program", program)
    command = (*named, "--out", str(tmp_path / "run"), "--set", "training.steps=2")
    assert "levels cannot guide 1 blocks one to one" in failing(*command, "model.blocks=1")
    assert "there is no panel 'nonsense'" in failing(*command, "prompts=nonsense")
    assert "have no effect" in failing(*command, "weight=0", "control=depth")
    assert not (tmp_path / "run").exists()
    assert main([*command, "model.blocks=3"]) == 0


def test_runs_that_cannot_be_guided_are_refused_before_anything_is_trained(program):
    for setting, value in (
        ("panel 'nonsense'", {"prompts": "nonsense"}),
        ("level_to_block", {"level_to_block": [0, 99]}),
    ):
        with pytest.raises(InvalidConfig, match=setting):
            check_guidance_runs(GuidanceRuns(teachers={}, students={"guided": guided(program).replace(value)}))


def test_guidance_runs_train_what_they_need_once(program, tmp_path):
    student = guided(
        program, training__steps=2, teacher__training__steps=2, teacher__training__schedule__decay_from=1
    )
    wanted = GuidanceRuns(
        teachers={"qmodel": student.teacher},
        students={"ce": student.replace({"weight": 0.0}), "guided": student},
    )
    steps: list[int] = []
    done = learn_guidance_runs(wanted, tmp_path / "a", lambda step, loss, acquired=None: steps.append(step))
    again = learn_guidance_runs(seeded(wanted, 0), tmp_path / "b")
    assert sorted(path.name.split("-")[0] for path in tmp_path.iterdir()) == [
        "a",
        "b",
        "student",
        "student",
        "teacher",
    ]
    assert (wanted.steps, steps) == (6, [2, 4, 6])
    assert done.students["guided"].accuracy == again.students["guided"].accuracy
    assert {
        one.config.seed for one in learn_guidance_runs(seeded(wanted, 5), tmp_path / "c").students.values()
    } == {5}


@pytest.mark.parametrize("control", ["depth", "examples", "word"])
def test_controls_break_the_target(program, teacher, control):
    run, taught = read_compiled(teacher, program=program), program_task(program)
    learners = [guided(program, control=c) for c in ("none", control)]
    whole, broken = (guidance_of(learner, run, taught, network_of(learner)) for learner in learners)
    assert not torch.equal(whole.target, broken.target)
    assert torch.allclose(whole.target.sum((0, 1)), broken.target.sum((0, 1)), atol=1e-3)


def test_another_teacher_is_refused(program, teacher):
    run, learner = read_compiled(teacher, program=program), guided(program, teacher__seed=9)
    with pytest.raises(RunMismatch, match="trained with another config"):
        lessons_of(learner, run, program_task(program), network_of(learner))


def test_the_deployed_transformer_knows_nothing_of_program_or_qmodel(program, teacher, tmp_path):
    done = learn_guided(guided(program), tmp_path / "run", read_compiled(teacher, program=program))
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(tuple("quantascope." + part for part in ("program", "qmodel", "guidance", "graph"))):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from pathlib import Path
from quantascope.models import decode
from quantascope.models.saved_transformer import load_transformer
model, vocabulary = load_transformer(Path(sys.argv[1]))
token = {symbol: index for index, symbol in enumerate(vocabulary)}
prompt = [token[symbol] for symbol in ("BOS", "7", "1", "SEP")]
print(" ".join(vocabulary[t] for t in decode(model, [prompt], end=token["."], limit=4)[0]))
"""
    file = tmp_path / "run" / "model.safetensors"
    alone = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True)
    assert alone.stderr == ""
    assert alone.stdout.strip() == "odd ."
    assert sum(p.numel() for p in load_transformer(file)[0].parameters()) == sum(
        p.numel() for p in done.model.parameters()
    )


def test_bad_input_is_told_in_one_line(program, program_text, teacher, failing, tmp_path):
    out = ["--out", str(tmp_path / "run")]
    named = ["--teacher", str(teacher), "--program", program]
    blocks = [*named, "--set", "model.blocks=2", "training.steps=5"]
    assert "3 levels cannot guide 2 blocks" in failing("guide", *out, *blocks)
    assert "so it is not a run; make one with" in failing("guide", *out, "--teacher", str(tmp_path / "nowhere"))
    assert "there is no program 'no'" in failing(
        "train", "compiled", "--program", "no", "--out", str(tmp_path / "q")
    )
    assert "unknown key 'wieght'" in failing("guide", *out, *named, "--set", "wieght=0")
    assert "GuidedLearner.model.blocks = 0: Input should be greater than 0" in failing(
        "guide", *out, *named, "--set", "model.blocks=0"
    )
    line = failing("guide", *out, *named, "--set", "teacher.seed=4")
    assert "the teacher was trained with other settings; leave out settings of the teacher" in line
    bare = tmp_path / "bare.py"
    bare.write_text(program_text.split("task =")[0])
    line = failing("train", "compiled", "--program", str(bare), "--out", str(tmp_path / "bare"))
    assert "has no task; let it hold `task = SequenceTask" in line


def test_a_transformer_is_no_teacher(program, teacher, failing, tmp_path):
    learn_guided(guided(program, training__steps=2), tmp_path / "run", read_compiled(teacher, program=program))
    line = failing("guide", "--out", str(tmp_path / "other"), "--teacher", str(tmp_path / "run"))
    assert "is a run of 'guided network', not of 'compiled Q-model'" in line


def test_the_papers_network_is_drawn_after_a_q_model_of_its_teachers_shape(program):
    drawn = {"teacher.model.initialization": "paper", "model.initialization": "paper", "drawn_after": "teacher"}
    config = guided(program, model__blocks=2, seed=3).replace(drawn)
    taught = program_task(program)
    own = dict(fresh_network(config, taught).named_parameters())
    task, width = taught.task, config.model.width
    with torch.random.fork_rng():
        torch.set_rng_state(fresh_qmodel(config.teacher.model, taught, seed=3).drawn_to)
        token = nn.Embedding(len(task.vocabulary), width, padding_idx=0)
        position = nn.Embedding(task.positions, width)
        blocks = [
            (
                nn.MultiheadAttention(width, 1),
                nn.Linear(width, config.model.hidden),
                nn.Linear(config.model.hidden, width),
            )
            for _ in range(2)
        ]
        head = nn.Linear(width, len(task.vocabulary))
    assert torch.equal(own["embedding.weight"], token.weight)
    assert torch.equal(own["position.weight"], position.weight)
    for number, (attention, up, down) in enumerate(blocks):
        into = torch.cat([own[f"blocks.{number}.{name}.weight"] for name in ("query", "key_value")])
        assert torch.equal(into, attention.in_proj_weight)
        assert torch.equal(own[f"blocks.{number}.out.weight"], attention.out_proj.weight)
        assert torch.equal(own[f"blocks.{number}.up.weight"], up.weight)
        assert torch.equal(own[f"blocks.{number}.down.bias"], down.bias)
    assert torch.equal(own["head.weight"], head.weight)
    alone = fresh_network(config.replace({"drawn_after": "nothing"}), taught)
    assert not torch.equal(own["head.weight"], alone.head.weight)


def test_the_oracle_target_is_what_quanta_say_where_the_program_runs_them(teacher, program):
    done = read_compiled(teacher, program=program)
    config = guided(program, routing="oracle", target_norm=None)
    taught = program_task(program)
    asked = taught.supervision("training")
    with torch.no_grad():
        execution = done.model.run(asked.events, asked.active.float())
    assert torch.equal(execution.activity.bool(), asked.active)
    said = torch.where(asked.active[..., None], execution.content, 0.0)
    by_level = [said[list(level)].sum(0) for level in taught.compiled.graph.by_level]
    [lesson] = lessons_of(config, done, taught, network_of(config))
    torch.testing.assert_close(lesson.guidance.target, torch.stack(by_level, 1))


def test_the_best_checkpoint_on_a_panel_is_kept_and_the_last_one_is_recorded(teacher, program, tmp_path):
    done = read_compiled(teacher, program=program)
    config = guided(program, training__evaluate_every=10)
    last = learn_guided(config, tmp_path / "last", done)
    best = learn_guided(config.replace({"best_on": "evaluation"}), tmp_path / "best", done)
    assert best.accuracy["evaluation_exact_last"] == last.accuracy["evaluation_exact"]
    assert best.accuracy["evaluation_exact"] >= last.accuracy["evaluation_exact"]
    # Steps do not change the schedule before them here, so that a shorter training is the checkpoint.
    flat = {"training.schedule.decay": "none", "training.steps": 30}
    chosen = learn_guided(config.replace({**flat, "best_on": "evaluation"}), tmp_path / "flat", done)
    steps = int(chosen.accuracy["best_step"])
    alone = learn_guided(config.replace({**flat, "training.steps": max(steps, 1)}), tmp_path / "alone", done)
    if steps:
        for name, weight in alone.model.state_dict().items():
            assert torch.equal(weight, chosen.model.state_dict()[name]), name


def test_a_compiled_model_keeps_its_best_checkpoint(program, tmp_path):
    config = guided(program).teacher.replace(
        {"best_on": "evaluation", "training.evaluate_every": 25, "training.steps": 100}
    )
    done = learn_compiled(config, tmp_path / "run")
    last = learn_compiled(config.replace({"best_on": None}), tmp_path / "last")
    assert done.accuracy["evaluation_exact_last"] == last.accuracy["evaluation_exact"]
    assert done.accuracy["evaluation_exact_oracle_last"] == last.accuracy["evaluation_exact_oracle"]
    assert done.accuracy["evaluation_exact"] >= last.accuracy["evaluation_exact"]
    assert done.accuracy["best_step"] in (0, 25, 50, 75, 100)


def test_a_network_of_ones_own_is_not_drawn_after_a_teacher(program):
    own = {"model": {"file": "mine.py:model", "digest": "0"}, "stream_noise": 0.0, "drawn_after": "teacher"}
    with pytest.raises(InvalidConfig, match="drawn_after=teacher has no effect on a network of your own"):
        GuidedLearner.parse(own)
