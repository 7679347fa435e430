"""A mistyped command or option is answered with the one that it resembles."""

import re

import pytest

from quantascope.cli import main
from quantascope.cli.main import COMMANDS


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("trian hsp --out x", "there is no command 'trian'; did you mean 'train'?"),
        ("xyz", "there is no command 'xyz'; known commands are audit, compile, discover, explain"),
        (
            "discover x --treshold 3",
            "discover has no option --treshold; did you mean '--threshold'? see quantascope discover --help",
        ),
        ("fit x --presets faithful", "; did you mean '--preset'? see quantascope fit --help"),
        (
            "fit x --qqq=1",
            "no option --qqq; known options are --device, --help, --json, --preset, --replace, --seed",
        ),
        ("fit x y", "quantascope: unexpected y; see quantascope fit --help"),
        (
            "reproduce ordering --estimate",
            "reproduce has no option --estimate; it is an option of discover; see quantascope reproduce --help",
        ),
        ("scoreboard --preset full", "it is an option of fit, explain, trace, intervene, reproduce; see"),
        ("fit x --recipe faithful", "quantascope: --recipe is --preset since version 0.2"),
        ("discover x --rule paht", "Expected one of ('path', 'gradient'); see quantascope discover --help"),
    ],
)
def test_what_is_mistyped_is_told_with_what_was_meant(command, said, capsys):
    assert main(command.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_help_breaks_its_lines_where_the_terminal_ends_not_where_the_docstring_does(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    assert "inflection, spelling or FILE.py:task. An MLP learns hsp" in capsys.readouterr().out


def page(command, capsys) -> str:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    return " ".join(capsys.readouterr().out.replace("│", " ").split())


@pytest.mark.parametrize("command", [command.__name__ for command in COMMANDS])
def test_the_help_states_each_default_once_and_none_that_is_no_value(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    said = page(command, capsys)
    assert "(default: None)" not in said
    assert not re.search(r"Default: [^().]*\. \(default: ", said)


def test_the_help_says_what_a_task_and_a_preset_are_in_plain_words(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert "a network with the graph of --program learns that program" in page("train", capsys)
    assert "trusted also learns the effects of interventions" in page("fit", capsys)
    assert "a claim of the paper or one of quantascope's own" in page("reproduce", capsys)


def test_a_folder_without_results_is_told_to_be_without_them(tmp_path, capsys):
    assert main(["scoreboard", "--results", str(tmp_path / "none")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("none/paper.toml is missing; leave out --results, or name a folder that has it")
