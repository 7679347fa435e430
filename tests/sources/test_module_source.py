"""Sources of a user's own: a module with its checkpoints, and a residual model that is written by hand."""

import itertools
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from quantascope import ExampleTask, Recorder, ResidualModel, SequenceTask, Source, Trajectory, module_source
from quantascope.discovery.discover import discover
from quantascope.discovery.factors import Factors
from quantascope.models.grid import grid_of
from quantascope.models.residual import Execution, Interface
from quantascope.program.source import load_module, split_entry
from quantascope.qmodel.recovered.config import RecoveredFit
from quantascope.qmodel.recovered.fidelity import activity, fidelity, summary
from quantascope.qmodel.recovered.fit import fit_recovered
from quantascope.qmodel.recovered.loss import RecoveryLoss
from quantascope.qmodel.recovered.model import RecoveredConfig, RecoveredQModel
from quantascope.runs.errors import InvalidConfig
from quantascope.semantics.tables import property_table
from quantascope.sources.open import open_source
from quantascope.tasks.events import Events


def test_losses_of_a_module_are_its_own_at_every_checkpoint(digits):
    source, file = open_source(digits), load_module(Path(split_entry(digits)[0]))
    rows, network = source.examples("test"), file.Network()
    assert source.steps == [0, 10, 20, 30]
    for index in range(4):
        network.load_state_dict(source.trajectory.load(index))
        with torch.no_grad():
            logits = network(rows[:, :64])
            expected = -logits.log_softmax(-1)[torch.arange(len(rows)), rows[:, 64].long()]
            found = source.losses(source.trajectory.load(index), rows)
        torch.testing.assert_close(found, expected)


def test_what_is_found_is_kept_beside_the_checkpoints(digits):
    source = open_source(digits)
    assert source.folder == Path(split_entry(digits)[0]).parent / "digits.quantascope"


def test_other_examples_make_another_source(digits):
    file = load_module(Path(split_entry(digits)[0]))
    examples = {**file.task.examples, "training": file.task.examples["training"].flip(0)}
    other = ExampleTask(examples=examples, classes=file.task.classes)
    made = [
        module_source(file.Network(), file.CHECKPOINTS, task=task, layers={"all": "*"}, losses=file.losses)
        for task in (file.task, file.task, other)
    ]
    assert made[0].identity == made[1].identity != made[2].identity


def test_an_example_is_described_by_its_class_and_by_columns():
    task = ExampleTask(
        examples={"training": np.eye(3)},
        classes={"training": torch.tensor([4, 5, 4])},
        columns={"dark": {"training": [True, False, False]}},
    )
    assert task.labels(task.panel("training")) == ("4", "5", "4")
    table = task.properties(task.panel("training"))
    assert table is not None
    assert table.names == ("class is 4", "class is 5", "dark")
    np.testing.assert_array_equal(table.values, [[1, 0, 1], [0, 1, 0], [1, 0, 0]])


def test_an_array_of_classes_serves_as_well_as_a_list():
    task = ExampleTask(examples={"training": np.eye(2)}, classes={"training": np.array([7, 8])})
    assert task.labels(task.panel("training")) == ("7", "8")


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"examples": {"test": [1]}, "classes": {"test": [1]}}, "one must be named training"),
        ({"examples": {"training": [1, 2]}, "classes": {"training": [1]}}, "2 examples and 1 classes; give one"),
    ],
)
def test_a_task_of_examples_without_training_or_classes_is_refused(wrong, complaint):
    with pytest.raises(InvalidConfig, match=complaint):
        ExampleTask(**wrong)


def test_a_source_without_layers_is_refused(digits):
    file = load_module(Path(split_entry(digits)[0]))
    with pytest.raises(InvalidConfig, match="at least one layer; name the parameters of each"):
        module_source(file.Network(), file.CHECKPOINTS, task=file.task, layers={}, losses=file.losses)


def test_the_discovery_of_a_module_finds_what_each_layer_learned(digits):
    found = discover(open_source(digits))
    change = found.trained.losses[:, 0] - found.trained.losses[:, -1]
    assert found.trained.completeness == pytest.approx(1, abs=0.02)
    assert change.mean() > 0
    assert set(found.factors.layer) <= {0, 1}
    assert property_table(found.source, "test").events == 400


# A residual model that is no module: a Q-model.

WORDS = ["".join(word) for word in itertools.product("abcdef", repeat=3)]
random.Random(0).shuffle(WORDS)
TASK = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", "EOS", *"abcdef"),
    positions=10,
    prompt=tuple,
    answer=lambda word: (*reversed(word), "EOS"),
    panels={"training": lambda: WORDS[:160], "test": lambda: WORDS[160:]},
    reported=("test",),
)
SHAPE = RecoveredConfig(writers=1, rank=4, value=8, gate_gradients=True)
WIDTH, LAYERS, CHANNELS = 24, (0, 0, 1, 1), ((0, 2), (1, 3))


def planted_model() -> RecoveredQModel:
    """Four quanta that read token, position and parents."""
    torch.manual_seed(1)
    interface = Interface(vocabulary=10, positions=10, width=WIDTH)
    model = RecoveredQModel(layers=LAYERS, blocks=2, interface=interface, config=SHAPE, seed=7)
    events = TASK.events(TASK.panel("training"))
    with torch.no_grad():
        model.gate *= 3
        model.score *= 6
        model.gate[:, WIDTH:] = 0
        model.score[:, WIDTH:] = 0
        model.channels.logit.fill_(-1)
        for parent, child in CHANNELS:
            model.channels.logit[child, parent] = 1
        for quantum in range(4):
            logit = model.run(events).gate[quantum, events.event_rows]
            model.gate_bias[quantum] -= logit.quantile(0.5 + 0.05 * quantum)
    return model.eval()


@dataclass(frozen=True, eq=False)
class Planted:
    """A Q-model as a residual model: its blocks add what its quanta write. It is no `nn.Module`."""

    model: RecoveredQModel
    existence: Tensor
    depth: int = 2
    width: int = WIDTH

    @torch.no_grad()
    def run(self, events: Events) -> Execution:
        done = self.model.run(events, existence=self.existence)
        return Execution(done.logits, self.model.interface.embed(grid_of(events)), done.updates)

    def resume(self, stream: Tensor, events: Events, *, block: int) -> Tensor:
        raise NotImplementedError

    def interface(self) -> Interface:
        own = self.model.interface
        return Interface.of(own.state_dict(), positions=own.positions, config=own.config)

    def __call__(self, events: Events) -> Tensor:
        return self.run(events).logits


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """The planted model, and the Q-model that is fitted to it."""
    folder, model = tmp_path_factory.mktemp("planted"), planted_model()
    recorder = Recorder(model, folder / "checkpoints", steps=1)
    for _ in range(3):
        recorder.step(0.1)
    events = TASK.events(TASK.panel("training"))
    factors = Factors(
        layer=np.array(LAYERS),
        supports=activity(model, events).gates,
        curves=np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.2, 0.8, 1.0], [0.5, 0.5, 1.0]]),
        explained=np.full(4, 0.2),
    )
    cumulative = torch.from_numpy(np.pad(factors.cumulative, ((0, 0), (1, 0)))).float()
    source = Source(
        folder=folder / "found",
        identity="planted",
        trajectory=Trajectory.open(folder / "checkpoints"),
        losses=lambda parameters, batch: nn.functional.cross_entropy(model(batch), batch.target, reduction="none"),
        layers={"block 0": "gate", "block 1": "score"},
        task=TASK,
        model_at=lambda step: Planted(model, cumulative[:, step]),
        replay_steps=(1, 2, 3),
    )
    config = RecoveredFit(
        source="planted",
        model=SHAPE.replace({"writers": 3}),
        loss=RecoveryLoss(predictions=5.0, gates=2.0, writers=0.0, channels=0.0),
        updates=5,
    )
    return model, fit_recovered(config, source, factors, folder / "qmodel")


def test_a_residual_model_written_by_hand_is_one():
    assert isinstance(Planted(planted_model(), torch.ones(4)), ResidualModel)


def test_a_fit_to_a_model_that_is_no_module_is_summed_up(planted):
    model, run = planted
    tensors = model.state_dict()
    said = summary(run)
    assert said["parameter_share"] == run.model.parameter_count / sum(one.numel() for one in tensors.values())
    assert said["agreement"] == fidelity(run, "test").agreement
