"""Checks that another Python process with another hash seed and environment repeats the same answers and events.

The order of a set, the hash of a string, and what is read while a file is imported may differ between processes. A
program from a file is imported again in another interpreter, which runs the checks of `afresh`. A program defined
in an interactive session exists only in that process and is not checked here. The programs that ship with
quantascope are checked by its tests.
"""

import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from quantascope.program.passes.afresh import Sample, check_afresh
from quantascope.program.registry import Program
from quantascope.program.source import LOADING_LIMIT, loaded_file, run_file
from quantascope.program.violations import NeverEnds, NotDeterministic, ProgramError
from quantascope.runs.errors import QuantascopeError
from quantascope.runs.isolation import time_limit

_COMMAND = (sys.executable, "-P", "-c", f"from {__name__} import main; main()")
"""The module search path excludes the current folder, which may contain unrelated modules."""
_ALIVE = b"."


class _Request(NamedTuple):
    """A file with its text, the name of its program, and the pickled sample."""

    file: Path
    text: bytes
    name: str
    sample: bytes


def check_elsewhere(program: Program, sample: Sample) -> None:
    """Repeat everything in a sample in another process, if the program comes from a file."""
    request = _request(program, sample)
    if request is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "request"
        asked.write_bytes(pickle.dumps(tuple(request)))
        process = subprocess.Popen(
            [*_COMMAND, str(asked)], env=_other_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            answer = _received(process)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            assert process.stdout is not None, "it was asked for"
            process.stdout.close()
    if answer is not None:
        raise answer


def _request(program: Program, sample: Sample) -> _Request | None:
    found = loaded_file(program)
    if found is None:
        return None
    return _Request(*found, pickle.dumps(sample.where(_can_be_pickled)))


def _can_be_pickled(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except Exception:
        return False
    return True


def _other_environment() -> dict[str, str]:
    """The environment with another hash seed, time zone, language, user and terminal."""
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    other = dict.fromkeys(("USER", "LOGNAME", "HOSTNAME", "TERM"), "other")
    known = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": seed, "TZ": "UTC-14"}
    return {**os.environ, **other, **known, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "COLUMNS": "31", "LINES": "7"}


def _received(process: "subprocess.Popen[bytes]") -> ProgramError | None:
    """The error that the process reports; raises if the process reports nothing until the time limit."""
    assert process.stdout is not None, "it was asked for"
    received, seconds, end = b"", time_limit(LOADING_LIMIT), process.stdout.fileno()
    while True:
        if not select.select([end], [], [], seconds)[0]:
            raise NeverEnds(
                f"in another process the program gives no sign of progress for {seconds:g} seconds",
                "make it independent of anything that differs between processes",
            )
        came = os.read(end, 1 << 16)
        if not came:
            break
        received = (received + came).lstrip(_ALIVE)
    if not received:
        raise NotDeterministic(
            f"in another process the program exits with code {process.wait()}",
            "make it independent of anything that differs between processes",
        )
    return pickle.loads(received)


def main() -> None:
    """Serve a request: import the file, run the checks, and write the error or None to the real stdout."""
    end, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    request = _Request(*pickle.loads(Path(sys.argv[1]).read_bytes()))
    os.write(end, pickle.dumps(_answer(request, end)))
    os._exit(0)


def _tell_alive(end: int) -> None:
    os.write(end, _ALIVE)


def _answer(request: _Request, end: int) -> QuantascopeError | None:
    try:
        program = getattr(run_file(request.file, request.text), request.name)
        sample = pickle.loads(request.sample)
        check_afresh(program, sample, lambda _: _tell_alive(end), time.time_ns())
    except QuantascopeError as error:
        return error if _can_be_pickled(error) else NotDeterministic(str(error), "see above")
    return None
