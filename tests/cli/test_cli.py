"""The command line as a user meets it: results, one-line errors, interrupts."""

import importlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

import quantascope
from quantascope.claims.register import CLAIMS, module_of
from quantascope.claims.result import Result
from quantascope.claims.scoreboard import Verdict
from quantascope.cli.compute import Compute
from quantascope.cli.main import _parse, main
from quantascope.cli.programs import compile as compile_command
from quantascope.programs import BUILT_IN, find_program

ROOT = Path(__file__).parents[2]
TINY = [
    "learner.family.tasks=6", "learner.family.pool=6", "learner.family.distractors=0", "learner.model.width=16",
    "learner.training.steps=400", "learner.batch_size=128", "learner.panel_inputs=16",
]  # fmt: skip
TINY_RUN = ["family.tasks=6", "family.pool=6", "family.distractors=0", "model.width=16", "panel_inputs=16"]


@pytest.fixture
def failing(capsys):
    """Runs a command that must fail with code 2 and returns its one line on stderr."""

    def run(*arguments: str) -> str:
        assert main(list(arguments)) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        lines = [line for line in captured.err.splitlines() if not line.startswith("[")]
        assert len(lines) == 1
        return lines[0]

    return run


def reproduce_in(folder: Path, *more: str) -> list[str]:
    return [
        "reproduce", "flat-acquisition", "--out", str(folder), "--workers", "1", *more,
        "--set", *TINY, "learner.training.optimizer.learning_rate=0.01",
    ]  # fmt: skip


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory, threads) -> Path:
    """A tiny reproduction that several tests look at."""
    folder = tmp_path_factory.mktemp("reproduced") / "flat"
    with threads():
        assert main(reproduce_in(folder)) == 0
    return folder


def test_a_reproduction_leaves_a_result_and_a_picture(reproduced):
    result = json.loads((reproduced / "result.json").read_text())
    assert result["claim"] == "flat-acquisition"
    assert result["config"]["learner"]["training"]["steps"] == 400
    assert all(0 < value <= 6 for value in result["figures"]["acquired_displayed"]["values"])
    assert (reproduced / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert (reproduced / "figure.svg").read_text().startswith("<?xml")


@pytest.mark.usefixtures("threaded")
def test_threads_take_the_place_of_processes_where_a_test_asks_for_them():
    assert isinstance(Compute(workers=1).pool(), ThreadPoolExecutor)


@pytest.mark.usefixtures("threaded")
def test_a_repeated_command_reuses_the_runs_and_gives_the_same_result(reproduced, capsys):
    metrics = sorted(reproduced.glob("runs/*/metrics.parquet"))
    before = [file.stat().st_mtime_ns for file in metrics]
    first = json.loads((reproduced / "result.json").read_text())
    assert main(reproduce_in(reproduced, "--json")) == 0
    assert json.loads(capsys.readouterr().out)["figures"] == first["figures"]
    assert [file.stat().st_mtime_ns for file in metrics] == before
    assert len(metrics) == 2


@pytest.mark.usefixtures("threaded")
def test_a_published_result_is_the_result_with_its_figures(tmp_path, capsys):
    folder, results = tmp_path / "run", tmp_path / "results"
    assert main(["reproduce", "hsp-demand", "--out", str(folder), "--publish", str(results)]) == 0
    assert (results / "hsp-demand-quick.json").read_bytes() == (folder / "result.json").read_bytes()
    for suffix in ("png", "svg"):
        copy = results / "figures" / f"hsp-demand-quick.{suffix}"
        assert copy.read_bytes() == (folder / f"figure.{suffix}").read_bytes()


def test_another_published_result_is_replaced_only_if_asked(tmp_path, capsys):
    command = ["reproduce", "hsp-demand", "--out", str(tmp_path / "run"), "--publish", str(tmp_path)]
    file = tmp_path / "hsp-demand-quick.json"
    assert main(command) == 0
    assert main(command) == 0  # the same
    found = Result.load(file)
    replace(found, figures=dict(list(found.figures.items())[1:])).save(file)
    assert main(command) == 2
    assert "holds another result; add --replace" in capsys.readouterr().err
    assert main([*command, "--replace"]) == 0
    assert Result.load(file).figures == found.figures


@pytest.mark.usefixtures("threaded")
def test_a_run_directory_of_another_config_is_refused_with_the_difference(reproduced, failing):
    line = failing(*reproduce_in(reproduced), "learner.batch_size=256")
    assert "another config (learner.batch_size: 128 -> 256)" in line


@pytest.mark.usefixtures("threaded")
def test_damaged_metrics_are_named(reproduced, failing, tmp_path):
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", reproduced, copy], check=True)
    file = next(copy.glob("runs/*/metrics.parquet"))
    file.write_bytes(file.read_bytes()[:50])
    assert re.search(r"metrics\.parquet is damaged or foreign .* move it away", failing(*reproduce_in(copy)))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["reproduce", "flat-acquisition", "--set", "learner.training.stepz=3"], "did you mean 'steps'"),
        (["reproduce", "flat-acquisition", "--set", "seed=[1]"], "did you mean 'seeds'"),
        (["reproduce", "flat-acquisition", "--set", "nonsense"], "write KEY=VALUE"),
        (["reproduce", "flat-acquisition", "--set", "learner.training.steps=0"], "steps = 0"),
        (["reproduce", "flat-acquisition", "--set", "learner.training.steps=many"], "steps = 'many'"),
        (["reproduce", "no-such-claim"], "invalid choice 'no-such-claim'"),
        (["reproduce", "flat-acquisition", "--workers", "0"], "at least 1"),
        (
            ["scoreboard", "no-such-claim", "--results", str(ROOT / "results")],
            "unknown claim 'no-such-claim'; known claims are",
        ),
        (["scoreboard", "--results", "nowhere"], "paper.toml"),
        (["scoreboard", "--verdict", "wrong", "--results", str(ROOT / "results")], "unknown verdict 'wrong'"),
        (["simulate", "--alpha", "-0.5"], "alpha is -0.5"),
        (["simulate", "--depth", "99"], "depth 99"),
        (["simulate", "--alpha", "x"], "could not convert string to float: 'x'"),
        (["train", "hsp"], "--out"),
        (["no-such-command"], "no-such-command"),
        (["train", "hsp", "--out", "run", "--threads", "0"], "0 threads"),
        (["train", "hsp", "--out", "run", "--config", "no.json"], "there is no config file no.json"),
        (["train", "hsp", "--out", "run", "--set", "training.optimizer.betas=[2, 0.9]"], "betas.0 = 2"),
        (["train", "hsp", "--out", "run", "--set", "training.optimizer.momentum=0.9"], "no effect on adam"),
        (["train", "hsp", "--out", "run", "--set", "training.checkpoints=[99999]"], "beyond the last step"),
        (["reproduce", "flat-acquisition", "--set", "seeds=[]"], "at least one value"),
        ([], "Expected one of"),
    ],
)
def test_bad_input_is_told_in_one_line_and_writes_nothing(arguments, says, failing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert says in failing(*arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (["family.tasks=3000"], "have 496; ask for at most 496, or for at least 78 sensors"),
        (["panel_inputs=6"], "needs a multiple of 4"),
        (["family.kind=forrest"], "forrest"),
        (['family={"kind": "regular", "rootz": 2}'], "did you mean 'roots'?"),
        (['family={"kind": "regular", "demand": {"kind": "closure", "beta": 1.5}}'], "beta 1.5"),
    ],
)
def test_an_impossible_forest_is_refused_before_anything_is_written(changes, says, failing, tmp_path):
    assert says in failing("train", "hsp", "--out", str(tmp_path / "run"), "--set", *changes)
    assert list(tmp_path.iterdir()) == []


def test_a_config_file_with_an_unknown_key_is_refused(failing, tmp_path):
    (tmp_path / "config.json").write_text('{"trainig": {}}')
    line = failing("train", "hsp", "--out", str(tmp_path / "run"), "--config", str(tmp_path / "config.json"))
    assert "unknown key 'trainig' in HSPLearner; did you mean 'training'?" in line


def test_training_reports_what_was_acquired(tmp_path, capsys):
    run = ["train", "hsp", "--out", str(tmp_path / "run"), "--json", "--set", *TINY_RUN, "training.steps=600"]
    assert main([*run, "training.optimizer.learning_rate=0.01"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["tasks"], outcome["acquired"], outcome["steps"]) == (6, 6, 600)


def test_a_divergent_run_names_step_and_rate(failing, tmp_path):
    line = failing(
        "train", "hsp", "--out", str(tmp_path / "run"), "--set", *TINY_RUN,
        "training.optimizer.name=sgd", "training.optimizer.learning_rate=1e6",
    )  # fmt: skip
    assert re.search(r"training diverged at step \d+ in .*run .*lower the learning rate 1e\+06", line)


def test_a_read_only_folder_is_named(failing):
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # permissions do not bind the superuser
    try:
        line = failing("train", "hsp", "--out", str(folder / "run"), "--set", *TINY_RUN)
    finally:
        os.seteuid(user)
        folder.rmdir()
    assert "cannot write" in line
    assert "Permission denied" in line


def test_a_full_disk_ends_training_with_one_line_and_the_last_state(tmp_path):
    program = (
        "import resource, sys; from quantascope.cli import main\n"
        "sys.dont_write_bytecode = True\n"  # Python would cut its cache short and keep it
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000)); sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["train", "hsp", "--out", str(tmp_path / "run"), "--set", *TINY_RUN, "training.steps=200"]
    full = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)
    assert full.returncode == 2
    said = full.stderr.splitlines()[-1]  # a slow machine shows progress before
    assert re.fullmatch(r"quantascope: cannot write .*state\.safetensors: .*; free space.*", said)
    assert not list((tmp_path / "run").glob(".*.partial"))
    assert main(arguments) == 0


def interrupt(arguments: list[str], until: Path) -> subprocess.Popen:
    process = subprocess.Popen(
        [sys.executable, "-m", "quantascope.cli", *arguments],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in the background of a shell
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not until.exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    return process


def test_ctrl_c_ends_a_sweep_with_code_130_and_the_same_command_finishes_it(tmp_path, reproduced):
    folder = tmp_path / "flat"
    arguments = reproduce_in(folder)
    process = interrupt(arguments, until=folder / "runs" / "model-0-ranks-0" / "config.json")
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    said = [line for line in stderr.splitlines() if not line.startswith("[")]
    assert said == ["quantascope: interrupted; run the same command to resume"]
    assert not (folder / "result.json").exists()
    assert main(arguments) == 0  # by processes, and to the figures of a thread
    figures = [json.loads((f / "result.json").read_text())["figures"] for f in (folder, reproduced)]
    assert figures[0] == figures[1]


def test_ctrl_c_while_workers_start_is_one_line_too(tmp_path):
    process = interrupt(reproduce_in(tmp_path / "flat"), until=tmp_path / "flat" / "config.json")
    _, stderr = process.communicate(timeout=60)
    said = [line for line in stderr.splitlines() if not line.startswith("[")]
    assert said == ["quantascope: interrupted; run the same command to resume"]
    assert process.returncode == 130


def test_a_leftover_of_a_killed_first_write_does_not_block_the_folder(tmp_path, capsys):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".config.json.123.partial").write_text("half")
    arguments = ["train", "hsp", "--out", str(folder), "--set", *TINY_RUN, "training.steps=5"]
    assert main(arguments) == 0
    assert not list(folder.glob(".*.partial"))


def test_a_config_files_seed_is_kept_unless_another_is_asked_for(tmp_path):
    (tmp_path / "config.json").write_text('{"model_seed": 5, "training": {"steps": 5}}')
    for seed, expected in (([], (5, 7000)), (["--seed", "2"], (2, 7002))):
        out = tmp_path / f"run{expected[0]}"
        arguments = ["train", "hsp", "--out", str(out), "--config", str(tmp_path / "config.json"), *seed]
        assert main([*arguments, "--set", *TINY_RUN]) == 0
        made = json.loads((out / "config.json").read_text())["config"]
        assert (made["model_seed"], made["data_seed"]) == expected


def test_a_second_interrupt_does_not_wait_for_a_long_step(tmp_path):
    settings = ["learner.widths=[8,256,512]", "learner.batch_size=200000", "seeds=[0]"]
    arguments = [
        "reproduce",
        "parameter-scaling",
        "--out",
        str(tmp_path / "x"),
        "--workers",
        "1",
        "--set",
        *settings,
    ]
    process = interrupt(arguments, until=tmp_path / "x" / "runs" / "alpha-0.200-seed-0" / "config.json")
    assert any("interrupted" in line for line in process.stderr)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr == ""


@pytest.mark.usefixtures("threaded")
def test_a_changed_preset_is_not_published(reproduced, failing, tmp_path):
    line = failing(*reproduce_in(reproduced, "--publish", str(tmp_path / "results")))
    assert "settings of the quick preset were changed; publish it without --set" in line
    assert not (tmp_path / "results").exists()


@pytest.mark.usefixtures("threaded")
@pytest.mark.parametrize("claim", ["flat-acquisition", "composed-staircase", "acquisition-clock"])
def test_a_claim_of_which_nothing_is_acquired_still_ends_in_a_result_and_a_figure(claim, tmp_path):
    short = ["learner.training.steps=20", "learner.model.width=8"]
    assert main(["reproduce", claim, "--out", str(tmp_path / "run"), "--workers", "1", "--set", *short]) == 0
    assert (tmp_path / "run" / "result.json").exists()
    assert (tmp_path / "run" / "figure.png").exists()


def test_the_version_is_told(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"quantascope {quantascope.__version__}"


def test_every_claim_in_the_list_has_its_file_and_its_figure():
    for name, claim in CLAIMS.items():
        assert claim.name == name
        assert callable(importlib.import_module(f"quantascope.claims.figures.{module_of(name)}").draw)


def test_the_scoreboard_speaks_json_with_the_agreed_keys(capsys):
    assert main(["scoreboard", "--json", "--results", str(ROOT / "results")]) == 0
    rows = json.loads(capsys.readouterr().out)
    known = {
        "claim", "figure", "says", "paper", "run", "ours", "low", "high", "seeds", "protocol", "panel", "preset",
        "verdict", "command",
    }  # fmt: skip
    assert all(row.keys() == known for row in rows)
    assert {row["verdict"] for row in rows} <= set(get_args(Verdict))


def test_the_scoreboard_has_a_line_for_each_claim_and_all_figures_when_asked(capsys):
    assert main(["scoreboard", "--results", str(ROOT / "results")]) == 0
    short = capsys.readouterr().out
    assert main(["scoreboard", "--all", "--results", str(ROOT / "results")]) == 0
    whole = capsys.readouterr().out
    assert all(
        sum(line.startswith(f"{claim} ") for line in short.splitlines()) == 1 for claim in ("ordering", "all")
    )
    assert "cost_per_level" in whole
    assert "cost_per_level" not in short


def test_the_scoreboard_lists_one_claim_when_asked(capsys):
    assert main(["scoreboard", "acquisition-clock", "--results", str(ROOT / "results")]) == 0
    shown = capsys.readouterr().out
    assert "gamma" in shown
    assert "flat-acquisition" not in shown


def test_simulate_prints_the_depth_classes(capsys):
    assert main(["simulate", "--depth", "26", "--clock", "sequential", "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["quanta"] == 8 * (2**27 - 1)
    assert [row["quanta"] for row in outcome["classes"]] == [8 * 2**d for d in range(27)]
    assert outcome["classes"][-1]["loss_after"] == pytest.approx(0, abs=1e-12)
    exponents = [row["exponent_compositional"] for row in outcome["classes"]]
    assert exponents[:2] == [None, None]
    assert exponents[2] > 0.5
    assert exponents[-1] == pytest.approx(0.2, rel=0.05)


PROGRAM = """
from quantascope.program import Registry, when

registry = Registry()


@registry.quantum("PARITY", output_cardinality=2)
def parity(number):
    return number % 2


@registry.quantum("WORD", output_cardinality=2)
def word(parity):
    return ("even", "odd")[parity]


@registry.quantum("STAGE", output_cardinality=2)
def stage(position):
    return position


@registry.quantum("END", output_cardinality=1)
def end(stage):
    return "."


@registry.entry(audit=range(10), vocabulary=["even", "odd", "."], end=".")
def predict(state):
    now = stage(state.position)
    with when(now, 1) as over:
        if over:
            return end(now)
    with when(now, 0) as begins:
        if begins:
            return word(parity(state.source))
"""


@pytest.fixture
def program(tmp_path) -> Path:
    file = tmp_path / "parity.py"
    file.write_text(PROGRAM)
    return file


def test_a_program_of_ones_own_is_compiled_and_drawn(program, capsys, tmp_path):
    picture = tmp_path / "graph.svg"
    assert main(["compile", f"{program}:predict", "--json", "--figure", str(picture)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "quanta": [
            {"name": "STAGE", "level": 0, "cardinality": 2},
            {"name": "PARITY", "level": 1, "cardinality": 2},
            {"name": "END", "level": 1, "cardinality": 1},
            {"name": "WORD", "level": 2, "cardinality": 2},
        ],
        "edges": [["STAGE", "PARITY"], ["STAGE", "END"], ["PARITY", "WORD"]],
        "levels": 3,
    }
    assert {"PARITY", "WORD", "STAGE", "END"} <= set(re.findall(r">(\w+)<", picture.read_text()))
    assert main(["compile", str(program)]) == 0
    assert "4 quanta, 3 direct edges, 3 levels" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("return position\n", "return position / 0\n"), "quantum STAGE, on input 0: raises ZeroDivisionError"),
        (("parity(state.source)", "int(parity(state.source))"), "of PARITY is converted to a plain int at"),
        (("range(10)", "[]"), "the audit domain is empty"),
        (("@registry.entry", "# @registry.entry"), "parity.py has no entry"),
        (("def predict(state)", "def predict(state"), "cannot be imported: SyntaxError"),
        (("import Registry", "import Regitsry"), "cannot be imported: ImportError"),
        (('["even", ', "["), "writes 'even', which is not in the vocabulary"),
    ],
)
def test_a_faulty_program_is_told_in_one_line(program, failing, change, says):
    program.write_text(PROGRAM.replace(*change))
    assert says in failing("compile", str(program))


def test_the_help_of_compile_lists_every_program_by_a_name_that_compiles():
    text = " ".join((compile_command.__doc__ or "").split())
    assert all(name in text for name in BUILT_IN)
    for entry in ("wrong", "steps", "incomplete"):
        assert f":{entry}" in text
        assert find_program(f"mistaken_inflection:{entry}").name == "predict"


def test_a_program_that_cannot_be_found_is_named(program, failing, tmp_path):
    assert "there is no program file nowhere.py" in failing("compile", "nowhere.py")
    assert "there is no program 'klingon'; give a file FILE.py, or one of english" in failing("compile", "klingon")
    says = "has 3 entries, wrong, steps, incomplete; name one of them, as in mistaken_inflection:wrong"
    assert says in failing("compile", "mistaken_inflection")
    assert "has no entry 'no'; its entries are: predict" in failing("compile", f"{program}:no")
    twice = PROGRAM + "\n\nother = registry.entry(audit=[1], vocabulary=['.'], end='.')(lambda state: end(1))\n"
    program.write_text(twice)
    assert "has 2 entries, predict, other; name one of them, as in parity.py:predict" in failing(
        "compile", str(program)
    )
    program.write_text(PROGRAM)
    assert "end it in .png, .svg, .pdf" in failing(
        "compile", str(program), "--figure", str(tmp_path / "graph.gif")
    )
    nowhere = tmp_path / "nowhere" / "graph.png"
    line = failing("compile", str(program), "--figure", str(nowhere))
    assert f"there is no folder {nowhere.parent} for the figure graph.png; create it first" in line
    assert not nowhere.parent.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train"], "TASK and --out are missing; see quantascope train --help"),
        (["train", "hsp", "--out"], "--out needs a value; see quantascope train --help"),
        (["discover"], "WHERE is missing; see quantascope discover --help"),
        (["explore"], "RUN is missing; see quantascope explore --help"),
    ],
)
def test_what_is_missing_is_named(failing, arguments, said):
    assert failing(*arguments) == f"quantascope: {said}"


def documented_commands() -> list[str]:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    blocks = [block for page in pages for block in page.read_text().split("```")[1::2]]
    lines = [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("quantascope ")]


@pytest.mark.parametrize("command", documented_commands())
def test_every_documented_command_is_understood(command):
    assert callable(_parse(shlex.split(command, comments=True)[1:]))
