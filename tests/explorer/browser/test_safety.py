"""What others wrote is text, other pages are refused, and a server that is gone is noticed."""

import re
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import polars as pl
import pytest

from quantascope.discovery.discover import discover
from quantascope.explorer.explorer import Explorer
from quantascope.explorer.offline import offline_page
from quantascope.explorer.open import open_runs
from quantascope.runs.artefact import write_table
from quantascope.sources.trained import train_source

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "'\"`{}",
    "\u202eevil",
    "\x1b[31m",
    "L" * 10_000,
]
TASK = f"""
from quantascope.tasks.sequence import SequenceTask

TOKENS = {HOSTILE!r}
task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", "EOS", *TOKENS), positions=8, prompt=lambda n: (TOKENS[n],),
    answer=lambda n: (TOKENS[n - 1], "EOS"), read=int,
    panels={{"training": lambda: range(4), "held_out": lambda: (4,), "evaluation": lambda: (5,)}},
)
"""


@pytest.fixture(scope="module")
def hostile(tiny_config, tmp_path_factory, serving):
    """The address of a run whose tokens, name and descriptions are markup, quotes, controls, or endless."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "task.py").write_text(TASK)
    task = f"{folder / 'task.py'}:task"
    run = folder / HOSTILE[1]
    source = train_source(tiny_config.replace({"task": task, "steps": 6, "intervals": 2, "replays": 0}), run)
    found = discover(source, threshold=0.05)
    found.save()
    row = {"kind": "quantum", "f1": 0.5, "low": 0.4, "high": 0.6, "constant": 0.3, "tells": True}
    table = pl.DataFrame([row | {"unit": name, "description": HOSTILE[0]} for name in found.names])
    write_table(run / "semantics.parquet", table, made_by=source.identity)
    return serving(Explorer(open_runs([str(run)], task=task), f"quantascope explore {HOSTILE[0]}"))


def test_hostile_strings_are_shown_and_do_nothing(visitor, hostile, expect):
    visit = visitor(hostile)
    visit.page.on("dialog", lambda dialog: visit.complaints.append("a dialog was opened"))
    page = visit.open("quanta")
    scripts = page.locator("script").count()
    expect(page.get_by_text(HOSTILE[0]).first).to_be_visible()
    names = page.locator(".table-row .mono").all_inner_texts()
    assert names
    for name in names:
        for which in ("strongest", "absent"):
            visit.open(f"quanta/{name}?events={which}")
    page = visit.open("training?from=0&to=6")
    expect(page.get_by_role("list", name="Events").locator(".event").first).to_be_visible()
    shown = page.locator("main").inner_text()
    assert HOSTILE[0] in shown
    assert not {"\u202e", "\x1b"} & set(shown)
    assert "L" * 1000 not in shown
    assert page.locator("script").count() == scripts
    assert page.locator("main img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_hostile_inputs_are_refused_in_words(visit, expect):
    page = visit.open("trace")
    visit.expected = "status of 400"
    for typed in [*HOSTILE, "../../etc/passwd", "%00"]:
        page.get_by_label("Input").fill(typed)
        with page.expect_response(lambda answer: "/trace?" in answer.url):
            page.get_by_role("button", name="Trace", exact=True).click()
        expect(visit.settled().get_by_role("alert")).to_be_visible()
        assert page.locator("main script, main img").count() == 0


@pytest.fixture
def elsewhere(tmp_path):
    """The address of a page of another origin."""
    (tmp_path / "index.html").write_text("<!doctype html><title>elsewhere</title>")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format, *args):
            """Nothing is written about requests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://localhost:{server.server_address[1]}/"
        server.shutdown()


def test_a_page_of_another_origin_reads_nothing(visitor, elsewhere, address):
    visit = visitor(elsewhere)
    visit.expected = ""
    visit.page.goto(elsewhere)
    ask = "address => fetch(address).then(answer => answer.text()).catch(error => `refused: ${error}`)"
    assert visit.page.evaluate(ask, f"{address}api/index").startswith("refused")


def test_another_name_for_this_machine_is_refused(chromium, address):
    port = address.rstrip("/").rpartition(":")[2]
    context = chromium.new_context()
    answer = context.request.get(f"{address}api/index", headers={"Host": f"evil.example:{port}"})
    assert (answer.status, "runs" in answer.text()) == (403, False)
    foreign = context.request.get(f"{address}api/index", headers={"Origin": "http://evil.example"})
    assert (foreign.status, "runs" in foreign.text()) == (403, False)
    context.close()


def test_a_page_whose_server_was_killed_says_so(visitor, run, expect, tmp_path):
    command = [sys.executable, "-m", "quantascope.cli", "explore", str(run), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        try:
            assert server.stderr
            address = next(line for line in server.stderr if line.startswith("http")).strip()
            visit = visitor(address)
            visit.expected = "net::ERR_"
            page = visit.open("quanta")
            expect(page.locator(".banner")).to_have_count(0)
        finally:
            server.kill()
    page.get_by_role("link", name="Training", exact=True).click()
    expect(page.locator(".banner")).to_contain_text("The server has stopped")
    expect(page.locator(".banner")).to_contain_text("quantascope explore")
    page.get_by_role("link", name="Quanta", exact=True).click()
    expect(page.locator(".table-row").first).to_be_visible()


@pytest.fixture(scope="module")
def file(run, forest_run, tmp_path_factory):
    """An offline file of two runs."""
    opened = open_runs([str(run), str(forest_run)], bare=True)
    path = tmp_path_factory.mktemp("file") / "page.html"
    path.write_bytes(offline_page(Explorer(opened, "quantascope explore tiny"), ["346"]))
    return path


def test_an_offline_file_shows_every_view_and_asks_for_nothing(visitor, file, expect):
    visit = visitor(file.as_uri())
    visit.page.context.set_offline(True)
    places = ["training?from=0&to=12", "quanta", "quanta/L0.Q0", "trace/346", "dynamics?run=1"]
    for place in [*places, "intervene/346?units=ablate+L0.Q0&panel=causal"]:
        page = visit.open(place)
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.get_by_text("offline", exact=True)).to_be_visible()
    assert {request.partition("#")[0] for request in visit.requests} <= {file.as_uri(), "about:blank"}
    page = visit.open("trace/999")
    expect(page.get_by_role("alert")).to_contain_text("quantascope explore")


def test_an_offline_file_leads_only_to_what_it_holds(visitor, file, expect):
    page = visitor(file.as_uri()).open("quanta/L0.Q0")
    expect(page.locator(".event .chip").first).to_be_visible()
    for target in page.locator("a.chip[href*=trace]").evaluate_all("found => found.map(one => one.hash)"):
        assert target.startswith("#/trace/346")
    without = page.get_by_role("link", name="See what happens without it")
    expect(without).to_have_attribute("href", re.compile("intervene/346.*step="))
    without.click()
    expect(page.get_by_text("L0.Q0 ablated. What the Q-model says")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
