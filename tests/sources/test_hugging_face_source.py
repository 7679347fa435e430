"""Checkpoints of Hugging Face and a file of data as a source."""

import json
import shutil

import polars as pl
import pytest
import torch

from quantascope.runs.errors import InvalidConfig, QuantascopeError, RunMismatch
from quantascope.sources.hugging_face import hugging_face_source
from quantascope.sources.open import open_source


def test_every_tenth_pair_is_held_out_in_turn(gpt2):
    source = hugging_face_source(gpt2 / "checkpoints", gpt2 / "pairs.jsonl")
    assert {name: len(source.inputs(name)) for name in source.task.panels} == {
        "training": 360, "held_out": 14, "calibration": 13, "test": 13,
    }  # fmt: skip
    rows = [json.loads(line) for line in (gpt2 / "pairs.jsonl").read_text().splitlines()]
    for panel, turn in (("held_out", 0), ("calibration", 1), ("test", 2)):
        wanted = [row["answer"] for row in rows[9 + 10 * turn :: 30]]
        said = ["".join(source.task.right_answer(one)[:-1]) for one in source.inputs(panel)]
        assert said == wanted


def test_losses_and_greedy_answers_are_those_of_transformers(gpt2):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = open_source(gpt2 / "checkpoints", data=gpt2 / "pairs.jsonl")
    module = AutoModelForCausalLM.from_pretrained(gpt2 / "checkpoints" / "checkpoint-20").eval()
    tokenizer = AutoTokenizer.from_pretrained(gpt2 / "checkpoints" / "checkpoint-20")
    found = source.losses(source.trajectory.load(-1), source.examples("test"))
    at = 0
    for example in source.inputs("test"):
        assert tokenizer.decode(example.prompt).replace(" ", "").endswith(":")
        tokens = torch.tensor([[*example.prompt, *example.answer]])
        with torch.no_grad():
            logits = module(tokens).logits[0, len(example.prompt) - 1 : -1]
        expected = torch.nn.functional.cross_entropy(logits, torch.tensor(example.answer), reduction="none")
        torch.testing.assert_close(found[at : at + len(expected)], expected, atol=1e-5, rtol=1e-4)
        at += len(expected)
    assert at == len(found)


def test_a_column_says_what_each_pair_is_for(gpt2, tmp_path):
    rows = [json.loads(line) for line in (gpt2 / "pairs.jsonl").read_text().splitlines()[:40]]
    panels = ["training"] * 20 + ["calibration"] * 10 + ["test"] * 10
    table = pl.DataFrame(rows).with_columns(panel=pl.Series(panels))
    table.write_parquet(tmp_path / "pairs.parquet")
    source = hugging_face_source(gpt2 / "checkpoints", tmp_path / "pairs.parquet", out=tmp_path / "found")
    assert {name: len(source.inputs(name)) for name in source.task.panels} == {
        "training": 20, "calibration": 10, "test": 10,
    }  # fmt: skip
    assert source.task.roles.held_out == "test"


def test_a_text_is_cut_in_windows_of_which_all_but_the_first_token_is_predicted(neox, tmp_path):
    source = hugging_face_source(
        neox / "checkpoints", neox / "text.txt", length=6, examples=100, out=tmp_path / "found"
    )
    words = (neox / "text.txt").read_text().split()
    assert source.events("training").count == 90 * 5
    assert source.labels("training")[:10] == (*words[1:6], *words[7:12])


def test_embeddings_without_a_token_have_names(neox, tmp_path):
    source = hugging_face_source(neox / "checkpoints", neox / "text.txt", length=6, out=tmp_path / "found")
    assert source.task.vocabulary[-2:] == tuple(
        f"<unused {len(source.task.vocabulary) - left}>" for left in (2, 1)
    )


def test_the_network_at_each_step_is_that_checkpoint(neox, tmp_path):
    from transformers import AutoModelForCausalLM

    source = hugging_face_source(neox / "checkpoints", neox / "text.txt", length=6, out=tmp_path / "found")
    events = source.events("test")
    for step in source.steps:
        module = AutoModelForCausalLM.from_pretrained(neox / "checkpoints" / f"step{step}").eval()
        with torch.no_grad():
            expected = module(events.tokens).logits[events.example, events.position]
            torch.testing.assert_close(source.model(step)(events), expected, atol=1e-5, rtol=1e-4)


def test_data_are_remembered_and_must_stay_as_they_were(gpt2, tmp_path):
    folder = shutil.copytree(gpt2 / "checkpoints", tmp_path / "checkpoints")
    data = tmp_path / "pairs.jsonl"
    shutil.copy(gpt2 / "pairs.jsonl", data)
    first = open_source(folder, data=data)
    assert open_source(folder).identity == first.identity
    whole = data.read_text()
    data.write_text(whole + whole.splitlines()[0] + "\n")
    with pytest.raises(RunMismatch, match=r"has changed since .* restore it, or move \S+ away and give --data"):
        open_source(folder)
    data.unlink()
    with pytest.raises(RunMismatch, match="is gone since"):
        open_source(folder)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"prompt": "a:"}\n', "has columns prompt, but no answer; add it"),
        ('{"prompt": "a:", "answer": 3}\n', "row 1 of .* is not a pair of texts"),
        ('{"prompt": "", "answer": "b"}\n', "row 1 of .* has an empty prompt or answer; leave it out"),
        ("not json\n", "holds no JSON lines of prompt and answer"),
        ("", "has columns , but no prompt|has no rows|is empty"),
        ('{"prompt": "a:", "answer": "b"}\n' * 29, "29 examples are too few to hold some out; give at least 30"),
        ('{"prompt": "a:", "answer": "b", "panel": "test"}\n', "names test; one must be training"),
    ],
)
def test_data_that_are_no_pairs_are_refused(gpt2, tmp_path, content, complaint):
    (tmp_path / "pairs.jsonl").write_text(content)
    with pytest.raises(QuantascopeError, match=complaint) as refusal:
        hugging_face_source(gpt2 / "checkpoints", tmp_path / "pairs.jsonl", out=tmp_path / "found")
    assert "\n" not in str(refusal.value)


def test_pairs_longer_than_the_model_are_refused(gpt2, own_model, tmp_path):
    row = json.dumps({"prompt": "a" * own_model.LENGTH + ":", "answer": "b"}) + "\n"
    (tmp_path / "pairs.jsonl").write_text(row * 40)
    with pytest.raises(InvalidConfig, match="an example takes 18 positions of 16; give shorter pairs"):
        hugging_face_source(gpt2 / "checkpoints", tmp_path / "pairs.jsonl", out=tmp_path / "found")


def test_a_tokenizer_without_an_unknown_token_is_answered_in_words(neox, tmp_path):
    folder = shutil.copytree(neox / "checkpoints", tmp_path / "checkpoints")
    file = folder / "tokenizer.json"
    about = json.loads(file.read_text())
    about["model"]["unk_token"] = "nowhere"
    file.write_text(json.dumps(about))
    task = open_source(folder, data=neox / "text.txt", length=8).task
    with pytest.raises(InvalidConfig, match="the tokenizer cannot read 'the elephant'"):
        task.parse("the elephant")


def test_what_the_trainers_callback_keeps_is_a_source(gpt2, tmp_path):
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerState

    from quantascope.training.callbacks import RecorderCallback

    saved, state = gpt2 / "checkpoints" / "checkpoint-20", TrainerState()
    model = AutoModelForCausalLM.from_pretrained(saved)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    given = {"model": model, "optimizer": optimizer, "processing_class": AutoTokenizer.from_pretrained(saved)}
    callback = RecorderCallback(tmp_path / "kept", steps=1)
    callback.on_train_begin(None, state, None, **given)
    model.lm_head.weight.data.mul_(0.5)
    state.global_step += 1
    callback.on_pre_optimizer_step(None, state, None, **given)
    callback.on_step_end(None, state, None, **given)
    before = torch.random.get_rng_state()
    source = open_source(tmp_path / "kept", data=gpt2 / "pairs.jsonl")
    assert torch.equal(torch.random.get_rng_state(), before)
    assert source.trajectory.mass.tolist() == [0, 0.1]
    events = source.examples("test")
    with torch.no_grad():
        logits = model(events.tokens).logits[events.example, events.position]
        torch.testing.assert_close(source.model().run(events).logits, logits, atol=1e-5, rtol=1e-4)
