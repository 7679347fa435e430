"""The command that shows runs in the browser."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from quantascope.claims import RESULTS
from quantascope.cli.arguments import File, Folder, ProgramName
from quantascope.cli.compute import ONE_PROCESS, Process, ProcessFlags
from quantascope.cli.discovery import TaskFile
from quantascope.report.text import complain, say
from quantascope.runs.errors import DamagedArtefact, InvalidConfig

if TYPE_CHECKING:
    from quantascope.explorer.explorer import Explorer


def explore(
    runs: Annotated[
        tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="RUN ...", help_behavior_hint="")
    ],
    /,
    html: File = None,
    inputs: Annotated[tuple[str, ...], tyro.conf.arg(metavar="INPUT ...", help_behavior_hint="")] = (),
    replace: bool = False,
    port: Annotated[int, tyro.conf.arg(help_behavior_hint="")] = 0,
    host: str = "127.0.0.1",
    no_browser: bool = False,
    task: TaskFile = None,
    program: ProgramName = None,
    results: Folder = None,
    process: ProcessFlags = ONE_PROCESS,
) -> int:
    """Show runs in the browser: training, quanta, traces, interventions, programs, dynamics, claims.

    Runs are opened read-only. Press Ctrl-C to stop.

    Args:
        runs: Run folders of any command, FILE.py:NAME of a Source, or folders of Hugging Face checkpoints after
            `quantascope discover`.
        html: Write one self-contained HTML file instead of starting a server.
        inputs: Inputs whose traces the file includes. Default: some of the task's own.
        replace: Overwrite an existing file.
        port: Port to listen on. Default: a free port.
        host: Address to listen on. With another address than the default, other machines can connect; they need
            the printed token.
        no_browser: Print the address without opening a browser.
        task: FILE.py:task, for a run that was trained on a task from a file.
        program: FILE.py:entry, for a compiled Q-model whose program is in a file.
        results: Folder of results for the claims. Default: the results that ship with quantascope.
    """
    from quantascope.explorer.opening import Opening
    from quantascope.explorer.server import ExplorerServer

    if not runs:
        raise InvalidConfig("RUN is missing; see quantascope explore --help")
    _check_file(html, inputs, replace=replace)
    make = partial(_opened, runs, task, program, results or RESULTS, process, bare=html is not None)
    if html:
        _write(make(), html, inputs)
        return 0
    _check_places(runs)
    explorer = Opening()
    with ExplorerServer(explorer, host=host, port=port) as server:
        if server.token:
            complain(f"warning: other machines can reach {host}; whoever has the printed address sees these runs")
        say(f"{server.address}\nCtrl-C ends the explorer.", aside=True)
        if not no_browser:
            _open_browser(server.address)
        try:
            server.serve(meanwhile=partial(explorer.finish, make))
        except KeyboardInterrupt:
            return 130  # as any command, and without a word: it is how an explorer ends
    return 0


def _opened(
    runs: Sequence[str],
    task: str | None,
    program: str | None,
    results: Path,
    process: Process,
    *,
    bare: bool,
) -> "Explorer":
    """The explorer of these runs."""
    from quantascope.explorer.explorer import Explorer
    from quantascope.explorer.open import open_runs
    from quantascope.models.device import find_device

    process.begin()
    device = find_device(process.chosen_device)
    opened = open_runs(runs, task=task, program=program, device=device, bare=bare)
    return Explorer(opened, "quantascope explore " + " ".join(run.named for run in opened), *claims_of(results))


def _check_places(runs: Sequence[str]) -> None:
    """Raise if a location does not exist, before a browser is opened."""
    for where in runs:
        if not (Path(where).exists() or ".py:" in where):
            raise DamagedArtefact(f"there is no folder {where}; give a run folder, FILE.py:NAME, or checkpoints")


def _check_file(file: Path | None, inputs: tuple[str, ...], *, replace: bool) -> None:
    """Raise if the file exists or cannot be written, before anything is computed."""
    if file is None:
        if inputs or replace:
            raise InvalidConfig("--inputs and --replace require --html FILE")
        return
    if file.suffix not in (".html", ".htm"):
        raise InvalidConfig(f"{file.name} is not an HTML file name; end it in .html")
    if not file.parent.is_dir():
        raise InvalidConfig(f"there is no folder {file.parent} for {file.name}; create it first")
    if file.exists() and not replace:
        raise InvalidConfig(f"{file} already exists; give another name, or --replace")


def _write(explorer: Any, file: Path, inputs: tuple[str, ...]) -> None:
    from quantascope.explorer.offline import offline_page
    from quantascope.report.progress import counting
    from quantascope.runs.files import write_bytes

    with counting("answers") as progress:
        page = offline_page(explorer, inputs, progress)
    write_bytes(file, page)
    say(f"page  {file}, {len(page) / 1e6:.1f} MB")


def claims_of(results: Path) -> tuple[Any, Any]:
    """Functions that load the scoreboard and its drawings on request; None without results."""
    if not (results / "paper.toml").is_file():
        return None, None
    from quantascope.claims.explained import claim_drawing, claim_rows

    return lambda: claim_rows(results), lambda claim: claim_drawing(results, claim)


def _open_browser(address: str) -> None:
    """Open the page in a graphical browser if there is one; otherwise the printed address has to do."""
    import webbrowser

    try:
        browser = webbrowser.get()
        # A plain GenericBrowser runs in the terminal and blocks it until it exits.
        opened = type(browser) is not webbrowser.GenericBrowser and browser.open(address)
    except webbrowser.Error:
        opened = False
    if not opened:
        complain("no browser was found; open the address yourself, or give --no-browser")
