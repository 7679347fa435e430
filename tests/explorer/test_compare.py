"""Runs side by side: what differs, what recurs."""

import shutil

import numpy as np
import pytest

from quantascope.discovery import recurrence
from quantascope.discovery.discover import discover
from quantascope.explorer.explorer import Explorer
from quantascope.explorer.open import open_runs
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.trained import train_source


@pytest.fixture(scope="module")
def other(tiny_config, tmp_path_factory):
    """The tiny source from another seed, with its factors."""
    source = train_source(tiny_config.replace({"seed": 7}), tmp_path_factory.mktemp("other") / "seed-7")
    discover(source, threshold=0.02).save()
    return source.folder


@pytest.fixture(scope="module")
def explored(run, other, forest_run, compiled_run):
    return Explorer(open_runs([str(run), str(other), str(forest_run), str(compiled_run)]), "quantascope explore")


@pytest.fixture(scope="module")
def get(getter, explored):
    return getter(explored)


def test_runs_can_be_compared_with_others_of_their_kind(get):
    there = [one["views"]["compare"]["there"] for one in get("index")["runs"]]
    assert there == [True, True, False, False]
    with pytest.raises(InvalidConfig, match="kinds forest and source cannot be compared"):
        get("compare", runs="0,2")


def test_partners_and_chance_are_those_of_the_library(get, explored):
    shown = get("compare", runs="0,1")
    factors = [run.discovery.factors for run in explored.runs[:2]]
    expected = recurrence(factors, permutations=shown["permutations"])
    names = [run.discovery.names for run in explored.runs[:2]]
    for place, one in enumerate(shown["runs"]):
        for row in one["quanta"]:
            quantum = names[place].index(row["name"])
            assert row["partners"][place] is None
            partner = row["partners"][1 - place]
            found = int(expected[place].partner[quantum, 1 - place])
            if found < 0:
                assert partner is None
                continue
            assert partner["name"] == names[1 - place][found]
            assert partner["mcc"] == pytest.approx(expected[place].mcc[quantum, 1 - place])
            assert partner["chance"] == pytest.approx(expected[place].chance[quantum, 1 - place])
            assert partner["recurs"] == expected[place].recurs[quantum, 1 - place]
    assert shown["note"] is None


def test_the_table_of_quanta_says_in_how_many_other_runs_each_recurs(get, explored):
    factors = [run.discovery.factors for run in explored.runs[:2]]
    share = recurrence(factors)[0].share
    names = explored.runs[0].discovery.names
    shown = {row["name"]: row["recurrence"] for row in get("runs/0/quanta")["quanta"]}
    assert shown == {name: share[place] for place, name in enumerate(names)}


def test_only_settings_that_differ_are_shown(get):
    assert [one["settings"] for one in get("compare", runs="0,1")["runs"]] == [[["seed", "0"]], [["seed", "7"]]]


def test_runs_on_other_events_are_shown_without_partners(run, getter, tiny_config, tmp_path):
    config = tiny_config.replace({"task": "addition", "steps": 6, "intervals": 2, "replays": 0})
    source = train_source(config, tmp_path / "addition")
    discover(source, threshold=0.05).save()
    shown = getter(Explorer(open_runs([str(run), str(source.folder)]), ""))("compare", runs="0,1")
    assert "were trained on different events" in shown["note"]
    assert all(partner is None for one in shown["runs"] for row in one["quanta"] for partner in row["partners"])
    assert all(one["quanta"] and one["losses"] for one in shown["runs"])


def test_forests_are_compared_by_when_tasks_were_acquired(forest_run, getter, tmp_path):
    copied = shutil.copytree(forest_run, tmp_path / "again")
    get = getter(Explorer(open_runs([str(forest_run), str(copied)]), ""))
    shown = get("compare", runs="0,1")
    assert shown["kind"] == "forest"
    first, second = (one["tasks"] for one in shown["runs"])
    assert first == second
    assert np.isclose(sum(one["demand"] for one in first if one["name"] == "T0"), 1)
