"""Writes one self-contained HTML file: the page with the answers to a fixed set of requests, without a server.

Answers that run networks are included for a few inputs and interventions; everything else is complete, except for
later pages of long lists.
"""

import base64
import gzip
import html
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations, pairwise
from typing import Any

from quantascope.explorer.events import WHICH
from quantascope.explorer.explorer import NO_CLAIMS, Explorer
from quantascope.explorer.page_file import read_page, security_policy
from quantascope.explorer.program_run import ProgramRun
from quantascope.explorer.request import Request
from quantascope.explorer.shown_run import ShownRun
from quantascope.explorer.source_run import SourceRun
from quantascope.explorer.values import finite
from quantascope.runs.errors import QuantascopeError

TRACED = 8
"""Number of inputs traced in each run by default."""
MOST_BOUNDS = 64
"""Up to this many checkpoints, every interval between two is included; beyond, only successive ones."""
INTERVENTIONS = ("ablate", "force")
"""The interventions made on each quantum on the causal panel."""
Progress = Callable[[int], None]
Answers = dict[str, Any]


def offline_page(explorer: Explorer, inputs: Sequence[str] = (), progress: Progress | None = None) -> bytes:
    """The page with embedded data."""
    answers = _collected(explorer, inputs, progress)
    text = json.dumps(finite(answers), allow_nan=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()
    page = read_page()
    policy = html.escape(security_policy(page, connect="'none'").replace("; frame-ancestors 'none'", ""))
    marks = f'<meta http-equiv="Content-Security-Policy" content="{policy}" />'
    data = f'<script type="application/octet-stream;base64" id="embedded">{packed}</script>'
    before, head, after = page.partition("<head>")
    return f"{before}{head}{marks}{data}{after}".encode()


def embedded_answers(page: bytes) -> Answers:
    """The answers of a file, by address."""
    packed = page.partition(b'id="embedded">')[2].partition(b"</script>")[0]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def _collected(explorer: Explorer, inputs: Sequence[str], progress: Progress | None) -> Answers:
    """Every available answer; damaged views are skipped."""
    answers: Answers = {}
    for asked in _requests(explorer, inputs, answers):
        with suppress(QuantascopeError):
            answers[asked.target] = explorer.answer(asked)
        if progress:
            progress(len(answers))
    if not answers.get("/api/claims"):
        for run in answers["/api/index"]["runs"]:
            run["views"]["claims"] = NO_CLAIMS.to_json(str)
    return answers


def _requests(explorer: Explorer, inputs: Sequence[str], answers: Answers) -> Iterator[Request]:
    """The requests of the page; answers may lead to further requests."""
    yield Request("index", {})
    index = answers["/api/index"]
    for run, shown in zip(explorer.runs, index["runs"], strict=True):
        there = {name for name, view in shown["views"].items() if view["there"]}
        if isinstance(run, SourceRun):
            yield from _of_source(run, there, inputs, answers)
        if isinstance(run, ProgramRun) and "program" in there:
            yield from _of_program(run, inputs, answers)
        if "dynamics" in there:
            yield Request(f"runs/{run.id}/dynamics", {})
    yield from _of_all(explorer, index, answers)


def _of_all(explorer: Explorer, index: Any, answers: Answers) -> Iterator[Request]:
    ids = [run["id"] for run in index["runs"] if run["views"]["compare"]["there"]]
    kinds = {run["id"]: run["kind"] for run in index["runs"]}
    for size in range(2, min(len(ids), 4) + 1):
        for some in combinations(ids, size):
            if len({_group(kinds[one]) for one in some}) == 1:
                yield Request("compare", {"runs": ",".join(some)})
    if any(run["views"]["claims"]["there"] for run in index["runs"]):
        yield Request("claims", {})
        for claim in dict.fromkeys(row["claim"] for row in answers.get("/api/claims", []) if row["drawing"]):
            yield Request("drawing", {"claim": claim})


def _group(kind: str) -> str:
    return kind if kind in ("source", "forest") else "accuracy"


def _of_source(run: SourceRun, there: set[str], inputs: Sequence[str], answers: Answers) -> Iterator[Request]:
    at = f"runs/{run.id}"
    if "training" in there:
        yield Request(f"{at}/training", {})
    if "quanta" in there:
        yield Request(f"{at}/quanta", {})
        for row in answers.get(f"/api/{at}/quanta", {"quanta": []})["quanta"]:
            yield Request(f"{at}/quantum", {"name": row["name"]})
            for which in WHICH:
                yield Request(f"{at}/events", {"name": row["name"], "which": which})
        bounds = answers[f"/api/{at}/training"]["bounds"]
        whole = len(bounds) <= MOST_BOUNDS
        for first, last in combinations(bounds, 2) if whole else pairwise(bounds):
            yield Request(f"{at}/interval", {"from": str(first), "to": str(last)})
    if "trace" in there:
        yield from _of_qmodel(run, inputs, answers)


def _of_qmodel(run: SourceRun, inputs: Sequence[str], answers: Answers) -> Iterator[Request]:
    """Requests for traces, for interventions on every traced input, and for interventions on the causal panel."""
    at = f"runs/{run.id}"
    yield Request(f"{at}/inputs", {})
    yield Request(f"{at}/units", {})
    if not {f"/api/{at}/inputs", f"/api/{at}/units"} <= answers.keys():
        return
    suggested, units = answers[f"/api/{at}/inputs"], answers[f"/api/{at}/units"]
    traced = [text for text in inputs or suggested["inputs"][:TRACED] if _can_be_asked(run, text)]
    suggested["inputs"] = traced
    quanta = units["quanta"]
    for text in traced:
        yield Request(f"{at}/trace", {"input": text})
        for quantum in quanta:
            yield Request(f"{at}/preview", {"input": text, "unit": f"ablate {quantum}"})
    on_quanta = [f"{kind} {quantum}" for kind in INTERVENTIONS for quantum in quanta]
    for line in [*on_quanta, "delete-all", "replace-all"] if units["panels"] else []:
        yield Request(f"{at}/intervene", {"panel": units["panels"][0], "units": line})


def _of_program(run: ProgramRun, inputs: Sequence[str], answers: Answers) -> Iterator[Request]:
    at = f"runs/{run.id}"
    yield Request(f"{at}/program", {})
    if f"/api/{at}/program" not in answers:
        return
    shown = answers[f"/api/{at}/program"]
    shown["inputs"] = [text for text in inputs or shown["inputs"][:TRACED] if _can_be_asked(run, text)]
    for text in shown["inputs"]:
        yield Request(f"{at}/execute", {"input": text})


def _can_be_asked(run: ShownRun, text: str) -> bool:
    """Whether the task of a run accepts this text."""
    try:
        if isinstance(run, SourceRun):
            run.source.sequence_task.parse(text)
        elif isinstance(run, ProgramRun):
            run.task.parse(text)
    except QuantascopeError:
        return False
    return True
