"""Chromium, and a server of tiny runs that it visits.

Where Chromium is missing these tests are skipped, but fail if `QUANTASCOPE_REQUIRE_BROWSER` is set.
"""

import importlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quantascope.cli import main
from quantascope.cli.explorer import claims_of
from quantascope.explorer.explorer import Explorer
from quantascope.explorer.open import open_runs
from quantascope.explorer.server import ExplorerServer

RESULTS = Path(__file__).parents[3] / "results"
NAMES = ("chromium", "chromium-browser", "google-chrome")
HOW = "`make test` as root installs both; else install Debian's chromium, and the dev extra of this package"
QUIET = ["--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update"]
PATIENCE = 60_000
"""Milliseconds that a condition may take; long, since the machine may be busy."""


@pytest.fixture(scope="session", autouse=True)
def chromium() -> Iterator[Any]:
    """A headless Chromium, with the Debian package's executable: Playwright brings none."""
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    try:
        playwright = importlib.import_module("playwright.sync_api")
    except ModuleNotFoundError:
        playwright = None
    if not executable or not playwright:
        missing = "Chromium" if playwright else "Playwright"
        if os.environ.get("QUANTASCOPE_REQUIRE_BROWSER"):
            pytest.fail(f"{missing} is required, and not installed; {HOW}")
        pytest.skip(f"browser tests need {missing}: {HOW}")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=QUIET, timeout=PATIENCE)
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page of the browser, and everything that it complained about and asked for."""

    page: Any
    address: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    expected: str | None = None
    """What complaints say that belong to the test; they may come until the page is closed."""

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    @property
    def unexpected(self) -> list[str]:
        """Complaints that do not belong to the test."""
        return [one for one in self.complaints if self.expected is None or self.expected not in one]

    def open(self, place: str) -> Any:
        """The page at a place such as `quanta?sort=demand`, opened anew, with all that it shows loaded."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#/{place}")
        return self.settled()

    def settled(self) -> Any:
        """The page once nothing on it is loading, and every chart is drawn."""
        self.page.locator("main h1, main .state strong").first.wait_for()
        expect = importlib.import_module("playwright.sync_api").expect
        expect(self.page.locator(".wait, .stale, .chart > [role=img]:empty")).to_have_count(0)
        return self.page


Opener = Callable[..., Visit]


@pytest.fixture(scope="session")
def expect(chromium: Any) -> Any:
    """Playwright's assertions, which wait until they hold."""
    return importlib.import_module("playwright.sync_api").expect


@pytest.fixture(scope="session")
def serving() -> Iterator[Callable[[Explorer], str]]:
    """The address at which an explorer is served."""
    servers: list[ExplorerServer] = []

    def serve(explorer: Explorer) -> str:
        servers.append(ExplorerServer(explorer))
        threading.Thread(target=servers[-1].serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return servers[-1].address

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def copied(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny source under another name: commands may draw in it, and each of its quanta recurs in the first."""
    return shutil.copytree(run, tmp_path_factory.mktemp("again") / "again")


@pytest.fixture(scope="session")
def address(run: Path, copied: Path, compiled_run: Path, forest_run: Path, serving: Callable) -> str:
    """A server of a source, its copy, a compiled program and a forest, with the committed results."""
    opened = open_runs([str(run), str(copied), str(compiled_run), str(forest_run)])
    return serving(Explorer(opened, "quantascope explore tiny again roman forest", *claims_of(RESULTS)))


@pytest.fixture
def visitor(chromium: Any) -> Iterator[Opener]:
    """Opens pages of a browser that remembers nothing; none of them may complain."""
    visits: list[Visit] = []

    def opened(address: str, **options: Any) -> Visit:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 720}, **options})
        visits.append(Visit(context.new_page(), address))
        return visits[-1]

    yield opened
    for one in visits:
        one.page.context.close()
    assert not [complaint for one in visits for complaint in one.unexpected]


@pytest.fixture
def visit(visitor: Opener, address: str) -> Visit:
    """A page at the server of tiny runs."""
    return visitor(address)


@pytest.fixture
def printed(copied: Path, capsys: pytest.CaptureFixture, threads: Callable) -> Callable[..., Any]:
    """What a command on the tiny source prints as JSON."""

    def run_command(verb: str, *arguments: str) -> Any:
        capsys.readouterr()
        where = [] if verb == "scoreboard" else [str(copied)]
        with threads():
            assert main([verb, *where, *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run_command
