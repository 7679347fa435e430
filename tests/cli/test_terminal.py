"""What a terminal shows: a wrong call ends in the same one line as in a log, without escape codes."""

import os
import pty
import subprocess
import sys

import pytest

WRONG = {
    "discover": "WHERE is missing; see quantascope discover --help",
    "train": "TASK and --out are missing; see quantascope train --help",
    "simulate --roots x": (
        "Error parsing --roots: invalid literal for int() with base 10: 'x'; see quantascope simulate --help"
    ),
    "reproduce hsp-demand --preset x": (
        "invalid choice 'x' for argument '--preset'. Expected one of ('quick', 'full', 'paper'); "
        "see quantascope reproduce --help"
    ),
    "fit x --preset trust": (
        "invalid choice 'trust' for argument '--preset'. Expected one of ('faithful', 'distilled', 'trusted'); "
        "see quantascope fit --help"
    ),
    "fit x --out": "fit has no option --out; it is an option of train, guide, reproduce; see",
    "fit x --seed": "--seed needs a value; see quantascope fit --help",
}


def shown_in_terminal(*words: str, **environment: str) -> tuple[int, str]:
    """The exit code of a command in a terminal, and all that the terminal receives."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "quantascope.cli", *words]
    coloured = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    environment = {**coloured, "TERM": "xterm-256color", **environment}
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    received = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux says so that the other end is closed
            break
        if not part:
            break
        received += part
    os.close(ours)
    return child.wait(), received.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(("command", "line"), WRONG.items(), ids=list(WRONG))
def test_a_wrong_call_ends_in_one_line_in_a_terminal_too(command, line):
    code, said = shown_in_terminal(*command.split())
    assert code == 2
    assert said.startswith(f"quantascope: {line}")
    assert said.count("\n") == 1
    assert all(sign.isprintable() for sign in said.removesuffix("\n"))


@pytest.mark.parametrize("words", [(), ("reproduce", "x"), ("trace", "x\x1b[31m", "--preset", "\x1b[31m")])
@pytest.mark.parametrize("environment", [{"TERM": "xterm-256color"}, {"COLUMNS": "30"}, {"NO_COLOR": "1"}])
def test_a_terminal_with_colours_shows_what_one_without_shows(words, environment):
    code, said = shown_in_terminal(*words, **environment)
    assert (code, said) == shown_in_terminal(*words, TERM="dumb")
    assert (code, said.count("\n"), said.count("\x1b")) == (2, 1, 0)


def test_the_help_has_colours_in_a_terminal_and_none_in_a_log():
    assert "\x1b[" in shown_in_terminal("simulate", "--help")[1]
    assert "\x1b[" not in shown_in_terminal("simulate", "--help", TERM="dumb")[1]
