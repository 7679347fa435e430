"""A quick version of `benchmarks/damage.py`: no damage is taken for a result, and nothing ends in a traceback."""

import shutil
from collections import Counter

import pytest

from damage import data_kinds, forest_kinds, own_program_kinds, series_kinds, source_kinds, trials


@pytest.fixture(scope="module")
def kinds(tiny_fit, tmp_path_factory):
    folder = tmp_path_factory.mktemp("damage")
    run = shutil.copytree(tiny_fit.source.folder, folder / "source")
    small = [*forest_kinds(folder), *series_kinds(folder), *own_program_kinds(folder), *data_kinds(folder)]
    return [*source_kinds(run), *small]


def test_a_few_dozen_damages_of_every_kind_are_refused_or_harmless(kinds):
    outcomes = Counter(what for _, _, what in trials(kinds, 4 * len(kinds)))
    assert outcomes["refused"] > outcomes["harmless"]
    assert not {"WRONG", "TRACEBACK"} & outcomes.keys()


def test_files_that_are_changed_and_sealed_again_do_not_end_in_a_traceback(kinds):
    outcomes = Counter(what for _, _, what in trials(kinds, 4 * len(kinds), forgeries=True))
    assert outcomes["refused"] > outcomes["believed"]
    assert "TRACEBACK" not in outcomes


def test_a_damaged_text_of_a_program_is_always_refused(kinds):
    (text,) = (kind for kind in kinds if kind.name == "text of a program")
    assert {what for _, _, what in trials([text], 20)} == {"refused"}
    assert {what for _, _, what in trials([text], 5, forgeries=True)} == {"refused"}


def test_a_resumed_forest_ends_in_the_bytes_of_one_that_was_never_stopped(tmp_path):
    (_, config, state) = forest_kinds(tmp_path)
    state.use(state.run)
    for file in ("metrics.parquet", "state.safetensors", "config.json"):
        assert (state.run / file).read_bytes() == (config.run / file).read_bytes(), file
