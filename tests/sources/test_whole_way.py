"""From a trained network to interventions on it, by the seven commands, for every kind of source."""

import json
import shutil

import pytest
import torch

from quantascope.models import decode
from quantascope.qmodel.recovered.fit import read_fit
from quantascope.qmodel.recovered.interventions import ablate_quantum
from quantascope.sources.open import open_source
from quantascope.training import Trajectory

SHORT = ("--set", "updates=4", "parts=2")


def go(done, where, text, *, first=(), task=()):
    """Discover, fit, explain, trace and intervene; what each said."""
    found = done("discover", where, *first, *task, "--json").json
    fitted = done("fit", where, *SHORT, *task, "--json").json
    named = done("explain", where, "--permutations", "1", *task, "--json").json
    followed = done("trace", where, text, *task, "--json").json
    broken = done("intervene", where, text, *task, "--json").json
    return found, fitted, named, followed, broken


def check(found, fitted, named, followed, broken, run, text):
    """What the commands said, beside the same computed in Python."""
    assert found["completeness"] == pytest.approx(1, abs=0.02)  # path credit is the loss change
    quanta = [one["quantum"] for one in found["quanta"]]
    assert sorted(quanta) == sorted(run.model.names)
    assert fitted["quanta"] == len(quanta)
    assert {one["unit"] for one in named["names"] if one["kind"] == "quantum"} == set(quanta)
    task, source = run.source.sequence_task, run.source.model()
    prompt = task.prompt_tokens(task.parse(text))
    end, limit = task.token[task.end], len(followed["source_output"])
    (output,) = decode(source, [prompt], end=end, limit=limit, padding=task.padding)
    assert [task.vocabulary[token] for token in output] == followed["source_output"]
    assert [step["token"] for step in followed["steps"]] == followed["output"]
    assert [one["title"] for one in broken["interventions"]] == [f"{name} ablated" for name in run.model.names]
    assert (run.path / "interventions.png").is_file()


def nll(logits, events):
    return torch.nn.functional.cross_entropy(logits, events.target, reduction="none")


@torch.no_grad()
def check_effects(broken, run, events):
    """The first ablation costs what the model says without that quantum, and in the source what it wrote."""
    model, source, effect = run.model, run.source.model(), broken["interventions"][0]
    whole, without = model.run(events), model.run(events, surgery=ablate_quantum(0))
    rise = nll(without.logits, events) - nll(whole.logits, events)
    assert effect["qmodel"]["by_event"] == pytest.approx(rise.tolist(), abs=1e-4)
    stream, first = source.run(events), model.layers[0]
    entering = stream.stream + sum(stream.updates[: first + 1]) - whole.message[0]
    changed = source.resume(entering, events, block=first + 1)
    rise = nll(changed, events) - nll(stream.logits, events)
    assert effect["source"]["by_event"] == pytest.approx(rise.tolist(), abs=1e-3)


def test_addition_goes_the_whole_way(addition, done):
    assert "nothing wrong" in done("audit", addition).out
    said = go(done, addition, "12+345")
    run = read_fit(open_source(addition), "faithful")
    check(*said, run, "12+345")
    assert said[3]["right"] == ["7", "5", "3", "EOS"]
    check_effects(said[4], run, run.source.task.events([(12, 345)]))


def test_a_task_in_a_file_goes_the_whole_way_when_it_is_named(reversal, done):
    folder, task = reversal
    assert "nothing wrong" in done("audit", folder, "--task", task).out
    said = go(done, folder, "abc", task=("--task", task))
    run = read_fit(open_source(folder, task=task), "faithful")
    check(*said, run, "abc")
    assert said[3]["right"] == ["c", "b", "a", "EOS"]
    check_effects(said[4], run, run.source.task.events(["abc"]))


def test_no_file_of_a_run_is_executed_unless_it_is_named_and_unchanged(reversal, refused, tmp_path):
    folder, task = reversal
    err = refused("discover", folder)
    assert "files run only if named" in err
    assert f"--task {task}" in err
    changed = tmp_path / "reversal.py"
    changed.write_text((folder / "task.py").read_text() + "\nprint('I run')\n")
    err = refused("discover", folder, "--task", f"{changed}:task")
    assert f"is not the file that {folder} was made with; compare it with {folder / 'task.py'}" in err
    assert "there is no file" in refused("discover", folder, "--task", f"{tmp_path / 'none.py'}:task")


def test_a_gpt2_on_pairs_goes_the_whole_way_and_names_its_data_once(gpt2, own_model, done):
    where, pairs = gpt2 / "checkpoints", gpt2 / "pairs.jsonl"
    assert "3 checkpoints, nothing wrong" in done("audit", where).out
    asked = json.loads(pairs.read_text().splitlines()[0])
    said = go(done, where, asked["prompt"], first=("--data", pairs))
    run = read_fit(open_source(where), "faithful")
    check(*said, run, asked["prompt"])
    assert "".join(said[3]["right"]) == asked["answer"] + own_model.END
    check_effects(said[4], run, run.source.task.events([run.source.task.parse(asked["prompt"])]))


def test_the_documented_gpt2_is_saved_alike_by_the_trainer_and_by_a_plain_loop(
    gpt2, own_model, monkeypatch, tmp_path
):
    found = {path.name for path in (gpt2 / "checkpoints").iterdir()}
    assert found == {"checkpoint-0", "checkpoint-10", "checkpoint-20"}
    assert (gpt2 / "checkpoints" / "checkpoint-20" / "trainer_state.json").is_file()  # it was the Trainer
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # as if accelerate were missing
    own_model.train(tmp_path, steps=2, saves=2, count=20)
    one, other = Trajectory.open(gpt2 / "checkpoints"), Trajectory.open(tmp_path / "checkpoints")
    assert other.steps.tolist() == [0, 1, 2]
    assert {name: tensor.shape for name, tensor in one.load(2).items()} == {
        name: tensor.shape for name, tensor in other.load(2).items()
    }
    assert one.digest(0) == other.digest(0)


def test_the_documented_residual_model_goes_the_whole_way(mixer, done):
    assert "nothing wrong" in done("audit", "runs/reversal/checkpoints").out
    said = go(done, mixer, "abc")
    run = read_fit(open_source(mixer), "faithful")
    check(*said, run, "abc")
    assert said[3]["right"] == ["c", "b", "a", "EOS"]
    events = run.source.sequence_task.events(["abc", "ff"])
    check_effects(said[4], run, run.source.sequence_task.events(["abc"]))
    model = run.source.model()
    whole = model.run(events)
    for block in range(model.depth + 1):
        stream = whole.stream + sum(whole.updates[:block])
        torch.testing.assert_close(model.resume(stream, events, block=block), whole.logits)
    earlier = run.source.model(0)
    assert not torch.equal(earlier(events), model(events))  # each step has its own model
    torch.testing.assert_close(model(events), whole.logits)


def test_a_gpt_neox_on_a_text_goes_the_whole_way(neox, done):
    where = neox / "checkpoints"
    assert "3 checkpoints, nothing wrong" in done("audit", where).out
    first = ("--data", neox / "text.txt", "--length", "8")
    done("discover", where, *first)
    done("fit", where, *SHORT)
    done("explain", where, "--permutations", "1")
    followed = done("trace", where, "the cat", "--json").json
    assert followed["right"] is None
    source = open_source(where)
    assert len(source.inputs("training")) == 270  # of 300 windows of 8 tokens
    assert "[/sat]" in done("discover", where, "--threshold", "0.01").out
    broken = done("intervene", where, "--delete-all", "--json").json
    assert broken["where"] == "test"
    assert len(broken["interventions"][0]["qmodel"]["by_event"]) == source.events("test").count
    assert "[/sat]" in done("trace", where, "[/sat] $a $b <x> :").out  # not taken for markup


def test_a_classifier_is_discovered_and_explained_and_has_no_qmodel(digits, command, refused):
    where = digits
    found = command("discover", where, "--workers", "1", "--json")  # its functions reach another process
    assert found.code == 0, found.err
    assert found.json["completeness"] == pytest.approx(1, abs=0.02)
    source = open_source(where)
    named = command("explain", where, "--workers", "1", "--permutations", "2", "--json")
    assert named.code == 0, named.err
    assert {one["unit"] for one in named.json["names"]} == {one["quantum"] for one in found.json["quanta"]}
    assert source.examples("test").shape == (400, 65)
    for arguments in (["fit"], ["trace"], ["intervene"]):
        err = refused(*arguments, where, *(["3"] if arguments == ["trace"] else []))
        assert "so it has no Q-model; discover and explain work" in err


def test_a_run_of_an_older_format_is_refused(addition, refused, tmp_path):
    folder = shutil.copytree(addition, tmp_path / "old")
    about = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(about | {"format": 1}))
    err = refused("discover", folder)
    assert "has run format 1, and this version of quantascope reads format 2; make the run again" in err


def test_a_task_beside_a_run_on_a_built_in_one_is_refused(addition, reversal, refused):
    err = refused("discover", addition, "--task", reversal[1])
    assert "was made with addition, not with" in err
    assert "leave out --task" in err
