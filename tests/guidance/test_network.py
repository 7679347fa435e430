"""Networks of the user's: guided from the same start, kept by their file, saved for anyone to load."""

import json
import shutil
from pathlib import Path

import pytest
import safetensors.torch
import torch

from quantascope.cli import main
from quantascope.guidance.guide import guide
from quantascope.guidance.network import OwnNetwork, build_network
from quantascope.guidance.target import lessons_of
from quantascope.models import decode
from quantascope.program.source import load_module
from quantascope.programs import find_task
from quantascope.qmodel.compiled.fit import read_compiled
from quantascope.qmodel.compiled.program_task import program_task
from quantascope.runs.errors import InvalidConfig, RunMismatch

OWN = '''
import torch
from torch import nn

from quantascope.models import Execution, Interface


class Mine(nn.Module):
    """Blocks that add what they find in the mean of the stream so far."""

    def __init__(self, task, depth=3, width=12):
        super().__init__()
        self.depth, self.width = depth, width
        self.embedding = nn.Embedding(len(task.vocabulary), width)
        self.position = nn.Embedding(task.positions, width)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(2 * width, 32), nn.GELU(), nn.Linear(32, width))
                                    for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, len(task.vocabulary))

    def update(self, block, stream, events):
        grid = stream.new_zeros(events.tokens.numel(), self.width).index_copy(0, events.rows, stream)
        total = grid.reshape(*events.tokens.shape, -1).cumsum(1)
        count = torch.arange(1, total.shape[1] + 1)[:, None]
        mean = (total / count).flatten(0, 1)[events.rows]
        return self.blocks[block](torch.cat([stream, mean], -1))

    def run(self, events):
        length = events.tokens.shape[1]
        stream = self.embedding(events.tokens.flatten()[events.rows]) + self.position(events.rows % length)
        updates, now = [], stream
        for block in range(self.depth):
            updates.append(self.update(block, now, events))
            now = now + updates[-1]
        return Execution(self.head(self.norm(now))[events.event_rows], stream, updates)

    def resume(self, stream, events, *, block):
        for later in range(block, self.depth):
            stream = stream + self.update(later, stream, events)
        return self.head(self.norm(stream))[events.event_rows]

    def interface(self):
        return Interface.of(self.state_dict(), positions=self.position.num_embeddings)

    def forward(self, events):
        return self.run(events).logits


class Normed(Mine):
    """The mistake of taking Hugging Face's last hidden state for the stream."""

    def run(self, events):
        found = super().run(events)
        last = self.norm(found.stream + sum(found.updates))
        updates = [*found.updates[:-1], last - found.stream - sum(found.updates[:-1])]
        return Execution(found.logits, found.stream, updates)


class Short(Mine):
    def run(self, events):
        found = super().run(events)
        return Execution(found.logits, found.stream, found.updates[:-1])


def model(task):
    return Mine(task)


def narrow(task):
    mine = Mine(task)
    mine.head = nn.Linear(mine.width, 3)
    return mine


def broken(task):
    raise ValueError("no such thing")


built = nn.Linear(2, 2)


def plain(task):
    return nn.Linear(2, 2)


def unadapted(task):
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(vocab_size=8, n_positions=8, n_embd=8, n_layer=1, n_head=1))
'''


@pytest.fixture
def own(tmp_path) -> Path:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return file


def test_guided_and_unguided_start_from_the_same_weights_which_the_seed_decides(own, program):
    task, config = find_task(program), OwnNetwork.named(f"{own}:model")
    torch.manual_seed(5)
    first = build_network(config, task, seed=1)
    before = torch.get_rng_state()
    second, other = (build_network(config, task, seed=seed) for seed in (1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, second.state_dict()[name])
    assert not torch.equal(first.head.weight, other.head.weight)


def test_a_network_of_ones_own_is_drawn_to_the_teacher_and_saved_as_it_is(own, program, teacher, tmp_path):
    runs = {
        weight: guide(
            tmp_path / str(weight),
            teacher=teacher,
            program=program,
            model=f"{own}:model",
            changes={"training.steps": 200, "weight": weight, "level_to_block": [0, 1, 2]},
        )
        for weight in (0.0, 1.0)
    }
    assert runs[1.0].accuracy["evaluation_exact"] == 1.0
    learner, model = runs[1.0].config, runs[1.0].model
    lesson = lessons_of(learner, read_compiled(teacher, program=program), program_task(program), model)[0]
    with torch.no_grad():
        error = {weight: float(lesson.alignment(run.model.run(lesson.events))) for weight, run in runs.items()}
    assert error[1.0] < 0.2 * error[0.0]
    task, folder = find_task(program), tmp_path / "1.0"
    assert (folder / "model.py").read_text() == OWN
    about = json.loads((folder / "config.json").read_text())["config"]["model"]
    assert about == OwnNetwork.named(f"{own}:model").model_dump()
    # Without quantascope's Transformer: the user's own class and the weights.
    alone = load_module(own).model(task)
    alone.load_state_dict(safetensors.torch.load_file(folder / "model.safetensors"))
    prompt = task.prompt_tokens(71)
    answer = decode(alone.eval(), [prompt], end=task.token["."], limit=4)[0]
    assert [task.vocabulary[token] for token in answer] == ["odd", "."]


def test_a_second_call_reads_and_a_changed_file_is_another_network(
    own, program, teacher, tmp_path, failing, capsys
):
    command = ["guide", "--teacher", str(teacher), "--program", program, "--model", f"{own}:model",
               "--out", str(tmp_path / "run"), "--json", "--set", "training.steps=2"]  # fmt: skip
    assert main(command) == 0
    first, written = capsys.readouterr().out, (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns == written
    own.write_text(OWN + "# another\n")
    assert "belongs to another config (model.digest: " in failing(*command)
    old = OwnNetwork.named(f"{own}:model").model_copy(update={"digest": "0" * 16})
    with pytest.raises(RunMismatch, match="has changed since the config was made"):
        build_network(old, find_task(program), seed=0)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("Normed", "what its blocks add does not make its logits"),
        ("Short", "give what each of its 3 blocks adds at every valid token"),
        ("narrow", "and a column for each token"),
        ("broken", "raises ValueError: no such thing; fix the file"),
        ("built", "is a Linear, which no seed reaches any more; write a function of the task"),
        ("plain", "returns a Linear, not a torch module with depth, width, run"),
        ("unadapted", "returns a GPT2LMHeadModel; return quantascope.adapt"),
        ("nothing", "does not define 'nothing'"),
    ],
)
def test_what_is_no_network_is_refused_before_a_run_is_made(
    name, complaint, own, program, teacher, tmp_path, failing
):
    line = failing("guide", "--teacher", teacher, "--program", program, "--model", f"{own}:{name}",
                   "--out", tmp_path / "run")  # fmt: skip
    assert complaint in line
    assert not (tmp_path / "run").exists()


def test_settings_that_a_network_of_ones_own_ignores_are_refused(own, program, teacher, tmp_path, failing):
    command = ["guide", "--teacher", teacher, "--program", program, "--model", f"{own}:model",
               "--out", tmp_path / "run", "--set"]  # fmt: skip
    assert "stream_noise 0.3 has no effect on a network of your own" in failing(*command, "stream_noise=0.3")
    assert "unknown key 'model.blocks'" in failing(*command, "model.blocks=4")
    assert "give one block from 0 to 2 for each of the 3 levels" in failing(*command, "level_to_block=[0,1,3]")
    assert "there is no file" in failing(*command[:6], "none.py:model", *command[7:], "weight=0")


def test_a_hugging_face_decoder_is_guided_and_loads_with_transformers(program, teacher, tmp_path, capsys):
    from transformers import AutoModelForCausalLM

    own = Path(shutil.copy(Path(__file__).parents[2] / "docs" / "own_network.py", tmp_path / "own.py"))
    done = guide(
        tmp_path / "run",
        teacher=teacher,
        program=program,
        model=f"{own}:model",
        changes={"training.steps": 30, "training.optimizer.learning_rate": 3e-3},
    )
    assert "shards" not in capsys.readouterr().err
    task = find_task(program)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "run" / "pretrained")
    events = task.events(range(60, 70))
    again = model(input_ids=events.tokens).logits[events.example, events.position]
    torch.testing.assert_close(again, done.model(events), atol=1e-5, rtol=1e-5)


def test_a_name_without_a_file_is_refused():
    with pytest.raises(InvalidConfig, match=r"there is no file none\.py; give FILE\.py:NAME"):
        OwnNetwork.named("none.py:model")
