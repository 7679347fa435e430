"""Tiny sources of every kind, made once, and the command line as a user meets it."""

import contextlib
import io
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from quantascope.cli.main import main
from quantascope.program.source import load_module
from quantascope.programs import addition as program

DOCS = Path(__file__).parents[2] / "docs"

TASK = """
import itertools
import random

from quantascope import SequenceTask

WORDS = ["".join(word) for word in itertools.product("abcd", repeat=3)]
random.Random(0).shuffle(WORDS)

task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", "EOS", *"abcd"),
    positions=10,
    prompt=tuple,
    answer=lambda word: (*reversed(word), "EOS"),
    panels={
        "training": lambda: WORDS[:30],
        "held_out": lambda: WORDS[30:38],
        "calibration": lambda: WORDS[38:50],
        "test": lambda: WORDS[50:],
    },
    reported=("test",),
)
"""

NO_SOURCES = """
import dataclasses

number = 3


def elsewhere():
    return dataclasses.replace(source(), device=torch.device("meta"))


def broken():
    raise ValueError("no such thing")
"""


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def _command(*arguments: object) -> Said:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(one) for one in arguments])
    return Said(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def command():
    return _command


@pytest.fixture(scope="session")
def done(threads):
    """A command that works."""

    def run(*arguments: object) -> Said:
        with threads():
            said = _command(*arguments)
        assert said.code == 0, said.err
        return said

    return run


@pytest.fixture(scope="session")
def refused(threads):
    """The one line in which a command refuses."""

    def run(*arguments: object) -> str:
        with threads():
            said = _command(*arguments)
        assert said.code == 2, said
        assert said.out == ""
        assert said.err.startswith("quantascope: "), said.err
        assert said.err.count("\n") == 1, said.err
        return said.err

    return run


@pytest.fixture(scope="session")
def own_model():
    """The file of own-model.md that trains a GPT-2, as a module."""
    return load_module(DOCS / "own_model.py")


@contextmanager
def _short_panels() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "DRAWN", program.DRAWN[: program.TRAINING + 364])
        patch.setattr(program, "EVALUATION", 300)
        patch.setitem(vars(program.task), "_listed", {})  # panels are listed once
        yield


@pytest.fixture(scope="session")
def addition_run(tmp_path_factory, done) -> Path:
    folder = tmp_path_factory.mktemp("addition") / "run"
    settings = ["steps=10", "intervals=2", "replays=2", "model.blocks=2", "model.width=8", "model.hidden=8"]
    with _short_panels():
        done("train", "addition", "--out", folder, "--set", *settings)
    return folder


@pytest.fixture
def addition(addition_run) -> Iterator[Path]:
    """A run on addition, whose panels of inputs that are not trained on are cut short meanwhile."""
    with _short_panels():
        yield addition_run


@pytest.fixture(scope="session")
def reversal(tmp_path_factory, done) -> tuple[Path, str]:
    """A run on a task in a user's file, and that task."""
    folder = tmp_path_factory.mktemp("reversal")
    (folder / "reversal.py").write_text(TASK)
    task = f"{folder / 'reversal.py'}:task"
    settings = ["steps=20", "intervals=2", "replays=2", "model.blocks=2", "model.width=8", "model.hidden=8"]
    done("train", task, "--out", folder / "run", "--set", *settings)
    return folder / "run", task


@pytest.fixture(scope="session")
def gpt2(tmp_path_factory, own_model) -> Path:
    """A folder with `pairs.jsonl` and the checkpoints of a GPT-2 that `transformers.Trainer` teaches them."""
    folder = tmp_path_factory.mktemp("gpt2")
    own_model.train(folder, steps=20, saves=2, count=400)
    return folder


SENTENCE = "the cat [/sat] on $a and $b mat : a dog ran off <x> far . "


@pytest.fixture(scope="session")
def neox(tmp_path_factory) -> Path:
    """A folder with `text.txt` and the checkpoints of a GPT-NeoX that learns it; its tokens look like markup."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("neox")
    words, draw = SENTENCE.split(), random.Random(0)
    text = " ".join(draw.choice(words) for _ in range(2400))
    (folder / "text.txt").write_text(text)
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(dict.fromkeys(words))}, "the"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    torch.manual_seed(0)
    config = GPTNeoXConfig(
        vocab_size=len(fast) + 2, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=32, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = GPTNeoXForCausalLM(config)
    tokens = torch.tensor(fast(text)["input_ids"])[:2400].reshape(300, 8)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    fast.save_pretrained(folder / "checkpoints")
    model.save_pretrained(folder / "checkpoints" / "step0")
    for step in range(1, 21):
        optimizer.zero_grad()
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        if step % 10 == 0:
            model.save_pretrained(folder / "checkpoints" / f"step{step}")
    return folder


@pytest.fixture(scope="session")
def digits(tmp_path_factory) -> str:
    """FILE.py:source of the classifier of own-model.md, which is trained, beside what is no source."""
    file = tmp_path_factory.mktemp("digits") / "digits.py"
    text = (DOCS / "own_classifier.py").read_text() + NO_SOURCES
    file.write_text(text.replace('"runs/digits/checkpoints"', repr(str(file.parent / "digits"))))
    load_module(file).train()
    return f"{file}:source"


@pytest.fixture
def mixer(tmp_path, monkeypatch) -> str:
    """FILE.py:source of the residual model of own-model.md, which is trained a little."""
    monkeypatch.chdir(tmp_path)  # its checkpoints are kept in runs/
    file = DOCS / "own_residual_model.py"
    load_module(file).train(steps=20, every=10)
    return f"{file}:source"
