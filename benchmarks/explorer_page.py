"""The explorer's page on 100,000 events, 40 intervals and 60 quanta, by the browser's own timer.

    python benchmarks/explorer_page.py      after benchmarks/explorer.py, which makes the run

The first view is timed from the command's start to the drawn charts, beside the processor time of the server until
then, which other work does not change; and again from the request when the page is loaded anew, with nothing else
under way. A brush is timed from the release of the mouse to the frame in which events, layers and quanta of the
interval are drawn; a filter, an order and a scrolled list from the key, click or scroll to the frame that shows
the outcome. Medians and maxima of several, each another interval, word, column or place.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

from quantascope.runs.artefact import write_json
from quantascope.runs.provenance import made_with

RUN = f"{Path(__file__).with_name('explorer.py')}:source"
PATIENCE = 120_000
WATCH = """([event, shown]) => {
    let began = null
    window.taken = new Promise(done => {
        addEventListener(event, () => { began ??= performance.now() }, { capture: true, once: true })
        const look = () => {
            if (began !== null && document.querySelector(shown) && !document.querySelector('.stale, .wait'))
                requestAnimationFrame(() => done(performance.now() - began))
            else requestAnimationFrame(look)
        }
        look()
    })
}"""


DRAWN = """clock => new Promise(done => {
    const look = () => {
        const drawn = document.querySelectorAll('.u-over').length === 2
        if (drawn) requestAnimationFrame(() => done(window[clock].now()))
        else requestAnimationFrame(look)
    }
    look()
})"""


@contextmanager
def served() -> Iterator[tuple[str, float, float, int]]:
    """The address of a server of the run, when its command was started, when it listened, and its process."""
    began = time.time()
    command = [sys.executable, "-m", "quantascope.cli", "explore", RUN, "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        try:
            address = next(line for line in server.stderr if line.startswith("http")).strip()
            yield address, began, time.time(), server.pid
        finally:
            server.kill()


def processor(process: int) -> int:
    """Milliseconds of the processor that a process has used."""
    used = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return round(1000 * sum(map(int, used)) / os.sysconf("SC_CLK_TCK"))


def timed(page: Page, event: str, shown: str, act: Callable[[], Any]) -> float:
    """Milliseconds from an event to the frame in which something is shown."""
    page.evaluate(WATCH, [event, shown])
    act()
    return page.evaluate("window.taken")


def brush(page: Page, first: int, last: int) -> float:
    """Brush whole intervals on the lower chart."""
    box = page.locator(".u-over").nth(1).bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * (first + 0.2) / 40, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * (last - 0.2) / 40, y, steps=3)
    return timed(page, "mouseup", f"[data-interval='{100 * first} {100 * last}']", page.mouse.up)


def say(what: str, taken: list[float]) -> dict[str, dict[str, float]]:
    """One line of milliseconds, and the same for a file."""
    print(f"{what:34} median {median(taken):6.0f} ms   most {max(taken):6.0f} ms   of {len(taken)}")
    return {what: {"median": round(median(taken), 1), "most": round(max(taken), 1), "of": len(taken)}}


def main() -> None:
    """Print what each action takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    chosen = parser.parse_args()
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_default_timeout(PATIENCE)
        measured = measure(page)
        browser.close()
    if chosen.json:
        outcome = {"milliseconds": measured, "asked": ASKED, "load_average": os.getloadavg()[0]}
        write_json(chosen.json, outcome | {"made_with": made_with()})


ASKED = {"first view, from the command": "<= 2000", "brush an interval": "<= 100", "filter 60 quanta": "<= 100"}


def measure(page: Page) -> dict[str, Any]:
    """Milliseconds of everything, printed as they come."""
    with served() as (address, began, listened, server):
        page.goto(address, wait_until="commit")
        first, used = page.evaluate(DRAWN, "Date") - 1000 * began, processor(server)
        page.wait_for_load_state("networkidle")
        page.reload(wait_until="commit")
        measured = {
            "listens, from the command": round(1000 * (listened - began)),
            "first view, from the command": round(first),
            "until then, the server's processor": used,
            "first view again, from the request": round(page.evaluate(DRAWN, "performance")),
        }
        for what, taken in measured.items():
            print(f"{what:34} {taken:6} ms")
        page.locator(".u-over").nth(1).scroll_into_view_if_needed()
        first_brush = [brush(page, 30, 31)]
        brushed = [brush(page, first, first + 1 + first % 7) for first in range(0, 24, 3)]
        page.goto(f"{address}#/quanta")
        field = page.get_by_role("searchbox")
        field.fill("")
        words = ["L0", "L1", "L2.Q7", "word3", ""]
        filtered = [timed(page, "input", ".table", lambda word=word: field.fill(word)) for word in words]
        heads = page.locator(".table-head button")
        ordered = [timed(page, "click", "[aria-sort]", heads.nth(at).click) for at in range(2, 6)]
        page.goto(f"{address}#/quanta/L1.Q3?events=absent")
        events = page.locator(".events")
        events.wait_for()
        scrolled = [
            timed(
                page,
                "scroll",
                f".event[aria-posinset='{at}'] .chip",
                lambda at=at: events.evaluate("(list, at) => { list.scrollTop = 42 * (at - 3) }", at),
            )
            for at in range(5_000, 60_000, 9_000)
        ]
        return (
            measured
            | say("brush the first interval", first_brush)
            | say("brush an interval", brushed)
            | say("filter 60 quanta", filtered)
            | say("sort 60 quanta", ordered)
            | say("scroll a list of events", scrolled)
        )


if __name__ == "__main__":
    main()
