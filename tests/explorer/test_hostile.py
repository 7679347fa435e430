"""Strings of others are data: hostile tokens, names and descriptions arrive as they are, in bounded answers."""

import json
import shutil

import polars as pl
import pytest

from quantascope.discovery.discover import discover
from quantascope.explorer.explorer import Explorer
from quantascope.explorer.offline import embedded_answers, offline_page
from quantascope.explorer.open import open_runs
from quantascope.explorer.server import LARGEST, Reply
from quantascope.runs.artefact import write_table
from quantascope.sources.trained import train_source

TOKENS = ["</script><script>alert(1)</script>", "'\"`{}", "\u202eevil", "\x1b[31m", "L" * 10_000, "&lt;", "\u2028"]
TASK = f"""
from quantascope.tasks.sequence import SequenceTask

TOKENS = {TOKENS!r}
task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", "EOS", *TOKENS), positions=8, reported=("test",),
    prompt=lambda n: (TOKENS[n],), answer=lambda n: (TOKENS[n - 1], "EOS"), read=int,
    panels={{"training": lambda: range(5), "held_out": lambda: (5,), "test": lambda: (6,)}},
)
"""


@pytest.fixture(scope="module")
def hostile(tiny_config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    file = folder / "task.py"
    file.write_text(TASK)
    config = tiny_config.replace({"task": f"{file}:task", "steps": 6, "intervals": 2, "replays": 0})
    source = train_source(config, folder / "run")
    discover(source, threshold=0.05).save()
    return folder / "run", f"{file}:task"


@pytest.fixture(scope="module")
def explored(hostile):
    run, task = hostile
    return Explorer(open_runs([str(run)], task=task), "")


def test_hostile_tokens_arrive_as_they_are_and_long_ones_cut(explored, getter):
    get = getter(explored)
    shown = [one for name in explored.runs[0].discovery.names for one in get("runs/0/events", name=name)["events"]]
    tokens = {token for one in shown for token in [*one["prompt"], *one["answer"]]}
    assert tokens >= set(TOKENS[:4])
    assert max(map(len, tokens)) == 200
    assert TOKENS[0] in {one["name"] for one in get("runs/0/training")["losses"]}


def test_answers_are_bounded_whatever_the_tokens(explored, getter):
    get = getter(explored)
    for path in ("index", "runs/0/training", "runs/0/quanta"):
        assert len(Reply.of(get(path)).body) < LARGEST


def test_a_page_with_hostile_data_ends_where_it_should(explored):
    page = offline_page(explored)
    assert page.count(b"<script") == 2
    assert TOKENS[0] in json.dumps(embedded_answers(page), ensure_ascii=False).replace('\\"', '"')


def test_hostile_descriptions_are_data(run, getter, tmp_path):
    folder = shutil.copytree(run, tmp_path / "<img src=x onerror=alert(1)>")
    opened = open_runs([str(folder)])
    names = opened[0].discovery.names
    row = {"kind": "quantum", "f1": 0.5, "low": 0.4, "high": 0.6, "constant": 0.3, "tells": True}
    table = pl.DataFrame([row | {"unit": name, "description": TOKENS[0]} for name in names])
    write_table(folder / "semantics.parquet", table, made_by=opened[0].source.identity)
    get = getter(Explorer(opened, ""))
    assert get("runs/0/quanta")["quanta"][0]["description"]["text"] == TOKENS[0]
    assert get("index")["runs"][0]["title"] == folder.name


def test_the_task_of_a_run_is_not_executed_unless_it_is_named(hostile):
    with pytest.raises(Exception, match="files run only if named"):
        open_runs([str(hostile[0])])
