"""A source trained in minibatches on real words, all the way; and what its run says of the data."""

import warnings
from dataclasses import replace

import pytest
import torch

from quantascope.programs.inflection import task
from quantascope.runs.errors import InvalidConfig
from quantascope.sources import data_record
from quantascope.sources.data_record import OtherData, check_data
from quantascope.sources.open import open_source
from quantascope.sources.trained import read_source_config
from quantascope.tasks.events import Events
from quantascope.training import Minibatches

TINY = (
    "trained_on=training_100", "steps=12", "batch=20", "intervals=2", "replays=2", "schedule.warmup=2",
    "schedule.decay_from=2", "model.blocks=2", "model.width=8", "model.hidden=8", "model.heads=1",
)  # fmt: skip


@pytest.fixture(scope="module")
def short_panels():
    with pytest.MonkeyPatch.context() as patch:
        panels = {name: lambda panel=panel: panel()[:40] for name, panel in task.panels.items()}
        patch.setitem(panels, "training_100", task.panels["training_100"])
        patch.setitem(vars(task), "_listed", {name: panel() for name, panel in panels.items()})
        yield


@pytest.fixture(scope="module")
def run(short_panels, done, tmp_path_factory):
    folder = tmp_path_factory.mktemp("inflection") / "run"
    done("train", "inflection", "--out", folder, "--set", *TINY)
    return folder


def test_inflection_goes_the_whole_way(run, done, command):
    audited = command("audit", run)
    assert audited.out.startswith("first order: ")  # updates of Adam are no gradient steps
    assert "1 findings" in audited.out
    found = done("discover", run, "--json").json
    assert found["completeness"] == pytest.approx(1, abs=0.02)
    done("fit", run, "--set", "updates=4", "parts=2")
    done("explain", run, "--permutations", "1")
    assert done("trace", run, "spy+PLURAL", "--json").json["right"] == [*"spies", "EOS"]
    assert done("intervene", run, "spy+PLURAL", "--json").json["interventions"]


def test_other_data_than_a_run_was_trained_on_are_named_in_a_warning(run, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_source(run)
    found = task.data()
    other = replace(task, data=lambda: replace(found, version="9.9", digest="0" * 16))
    with pytest.warns(OtherData, match=rf"{found.digest}.* lemminflect 9\.9 \(0+\) is installed"):
        check_data(run, other)
    assert (run / data_record.DATA).is_file()


def test_the_task_suggests_minibatches_which_settings_may_change():
    suggested = read_source_config(None, task="inflection", seed=None)
    assert suggested.batch == 64
    assert suggested.optimizer.name == "adam"
    assert suggested.replace({"batch": None}).batch is None


def test_every_example_is_in_one_batch_of_an_epoch_and_orders_differ():
    events = Events.of([[number] for number in range(1, 13)], [[99]] * 12)
    batches = Minibatches(events, size=4, seed=3)
    epochs = [torch.cat([batches(step).tokens for step in range(3 * n, 3 * n + 3)]).flatten() for n in (0, 1)]
    assert all(sorted(epoch.tolist()) == list(range(1, 13)) for epoch in epochs)
    assert epochs[0].tolist() != epochs[1].tolist()
    assert batches(4).tokens.equal(Minibatches(events, size=4, seed=3)(4).tokens)


def test_a_batch_larger_than_the_panel_is_refused():
    with pytest.raises(InvalidConfig, match="batch = 5 of 2 examples; give a batch from 1 to that many"):
        Minibatches(Events.of([[1], [2]], [[3], [3]]), size=5)
