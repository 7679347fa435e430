"""The command line: parses arguments, runs a command, and turns errors into one line."""

import contextlib
import functools
import importlib.metadata
import inspect
import io
import itertools
import multiprocessing
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import tyro

from quantascope.cli.claims import reproduce, scoreboard
from quantascope.cli.discovery import audit, discover, explain, fit, intervene, trace
from quantascope.cli.dynamics import simulate
from quantascope.cli.explorer import explore
from quantascope.cli.programs import compile, guide
from quantascope.cli.training import train
from quantascope.report.text import complain
from quantascope.runs.errors import InvalidConfig, QuantascopeError, nearest, storage_remedy
from quantascope.runs.memory import is_out_of_memory

COMMANDS = (
    train,
    audit,
    discover,
    fit,
    explain,
    trace,
    intervene,
    explore,
    compile,
    guide,
    simulate,
    reproduce,
    scoreboard,
)

RENAMED_OPTIONS = {"--recipe": "--preset"}
"""Options of version 0.1 and their new names."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code: 2 for an error that the user can fix, 130 for an interrupt."""
    try:
        # Characters that the output encoding cannot represent are written as backslash escapes.
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        # SIGTERM is treated like Ctrl-C: workers stop and the last saved state is kept.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if (sys.argv[1:] if arguments is None else arguments) == ["--version"]:
            print(f"quantascope {importlib.metadata.version('quantascope')}")
            return 0
        with _warnings_in_a_line():
            code = _parse(arguments)() or 0
            sys.stdout.flush()
            return code
    except QuantascopeError as error:
        complain(str(error))
        return 2
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        print("quantascope: out of memory; lower the sizes of this command, or free memory", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        # Workers may need long until they save; a second interrupt does not wait for them.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: [worker.kill() for worker in multiprocessing.active_children()])
        complain("interrupted; run the same command to resume")
        return 130
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe.
        _discard_output()
        return 0
    except OSError as error:
        _discard_output()
        named = f"{error.filename}: " if error.filename else ""
        complain(f"{named}{error.strerror or error}; {storage_remedy(error)}")
        return 2


def _discard_output() -> None:
    """Redirect stdout to the null device, so that flushing at exit does not fail again."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Print warnings in the format of errors, without the line of code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: complain(f"warning: {message}")
        yield


def _parse(arguments: list[str] | None) -> Callable[[], int | None]:
    """The command that the arguments select, ready to run."""
    given = sys.argv[1:] if arguments is None else arguments
    asked = next(iter(given), "-")
    names = [command.__name__ for command in COMMANDS]
    if asked not in names and not asked.startswith("-"):
        raise InvalidConfig(f"there is no command '{asked}'{nearest(asked, names, 'commands')}")
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return _bound(given)
    except SystemExit as stop:
        if not stop.code:
            raise
        for old in RENAMED_OPTIONS.keys() & given:
            raise InvalidConfig(f"{old} is {RENAMED_OPTIONS[old]} since version 0.2") from None
        command = asked if asked in names else None
        said = (command and _unknown_option(command, given)) or _complaint(_box(given))
        page = f"quantascope {command}" if command else "quantascope"
        raise InvalidConfig(f"{said} see {page} --help") from None


def _bound(arguments: list[str]) -> Callable[[], int | None]:
    """The command with its arguments; exits with a box on stderr if they are wrong."""
    return tyro.extras.subcommand_cli_from_dict(
        {command.__name__: _deferred(command) for command in COMMANDS},
        prog="quantascope",
        description="Analyse a network's training as the acquisition of discrete, reusable computations.",
        args=arguments,
        config=(tyro.conf.FlagCreatePairsOff,),
    )


def _box(wrong: list[str]) -> str:
    """What tyro says about wrong arguments, without colours: it colours what it writes if stdout is a terminal."""
    said = io.StringIO()
    plain = contextlib.redirect_stdout(io.StringIO())
    with plain, contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        _bound(wrong)
    return said.getvalue()


def _unknown_option(command: str, given: list[str]) -> str | None:
    """The complaint about the first unknown option, with the commands that have it or the nearest option."""
    options = _options(command)
    named = (argument.partition("=")[0].replace("_", "-") for argument in given if argument.startswith("--"))
    unknown = next((name for name in named if name not in options), None)
    if unknown is None:
        return None
    owners = [other.__name__ for other in COMMANDS if unknown in _options(other.__name__)]
    hint = (
        f"; it is an option of {', '.join(owners)}"
        if owners
        else nearest(unknown.lower(), options, "options", cutoff=0.75)
    )
    return f"{command} has no option {unknown}{hint}{'' if hint.endswith('?') else ';'}"


def _options(command: str) -> list[str]:
    """The options of a command, from its help."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        _bound([command, "--help"])
    return re.findall(r"^[│|]? {1,2}(?:-h, )?(--[a-z][a-z-]*)", text.getvalue(), re.MULTILINE)


def _complaint(box: str) -> str:
    """The message inside tyro's box, without frame and title.

    For missing arguments, only the names are given; the help describes them.
    """
    if missing := _missing(box):
        return f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing;"
    if missing := re.search(r"Missing value for argument '(\S+)'", box):
        option = missing[1]
        return f"{option} needs a value;" if option.startswith("-") else f"{option.upper()} is missing;"
    inside = (line.strip("│| ") for line in box.splitlines()[1:])
    lines = ["" if set(line) <= set("─-+╰╯") else line for line in inside]
    said = " ".join(itertools.takewhile(bool, itertools.dropwhile(lambda line: not line, lines))).removesuffix(".")
    return f"{said.replace('Unrecognized options:', 'unexpected')};"


def _missing(box: str) -> list[str]:
    """The names of the required arguments that a complaint lists, each above what it means.

    >>> _missing("| Missing from it: |\\n|     --out PATH |\\n|         The folder. |\\n| ---------------- |")
    ['--out']
    """
    listed = re.search(r"^[│|]?( *)Missing from .*\n((?:.*\w.*\n?)*)", box, re.MULTILINE)
    return re.findall(rf"^[│|]?{listed[1]} {{4}}(\S+)", listed[2], re.MULTILINE) if listed else []


def _deferred(command: Callable[..., int | None]) -> Callable[..., Callable[[], int | None]]:
    """The command with parsing separated from running, so that only parsing errors are reported as such."""

    def bound(*positional: Any, **named: Any) -> Callable[[], int | None]:
        return functools.partial(command, *positional, **named)

    # Not functools.wraps: tyro would read the original docstring, and break lines of the help where its lines end.
    functools.update_wrapper(bound, command)
    vars(bound).pop("__wrapped__")
    bound.__signature__ = inspect.signature(command)
    bound.__doc__ = re.sub(r"\n {12,}", " ", command.__doc__ or "")
    return bound
