"""A quick version of `benchmarks/damage.py`: no damage is taken for a result, none ends in a traceback."""

import shutil
from collections import Counter

from damage import forest_kinds, series_kinds, source_kinds, trials


def test_a_few_dozen_damages_of_every_kind_are_refused_or_harmless(tiny_fit, tmp_path):
    run = shutil.copytree(tiny_fit.source.folder, tmp_path / "source")
    kinds = [*source_kinds(run), *forest_kinds(tmp_path), *series_kinds(tmp_path)]
    outcomes = Counter(what for _, _, what in trials(kinds, 65))
    assert outcomes["refused"] > outcomes["harmless"]
    assert not {"WRONG", "TRACEBACK"} & outcomes.keys()


def test_a_resumed_forest_ends_in_the_bytes_of_one_that_was_never_stopped(tmp_path):
    (_, config, state) = forest_kinds(tmp_path)
    state.use(state.run)
    for file in ("metrics.parquet", "state.safetensors", "config.json"):
        assert (state.run / file).read_bytes() == (config.run / file).read_bytes(), file
