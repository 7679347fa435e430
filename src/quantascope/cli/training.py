"""The command that trains one of quantascope's networks."""

from pathlib import Path
from typing import Annotated, Any

import tyro

from quantascope.cli.arguments import Changes, File, Number, ProgramName, parse_changes, print_json
from quantascope.cli.compute import ONE_PROCESS, ProcessFlags
from quantascope.report.text import say
from quantascope.runs.errors import InvalidConfig


def train(
    task: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TASK")],
    /,
    out: Path,
    config: File = None,
    set_: Changes = (),
    program: ProgramName = None,
    seed: Number = None,
    process: ProcessFlags = ONE_PROCESS,
    json: bool = False,
) -> None:
    """Train one network and save it as a run folder; an interrupted run is resumed.

    Args:
        task: What to learn. A Transformer learns number-naming, french, addition, roman, clock, inflection,
            spelling or FILE.py:task. An MLP learns hsp, a forest of sparse parities. A GPT-NeoX learns code, the
            bytes of Python's standard library. For compiled, a network with the graph of --program learns that
            program.
        out: The run folder.
        config: JSON file with the settings that differ from the defaults.
        set_: Change settings, as in --set steps=2000 (Transformer) or --set training.steps=2000 (hsp, compiled).
        program: For compiled, the program: FILE.py, FILE.py:entry, or a name as in quantascope compile.
        seed: Seed of the network and its batches. Default: the seeds of the config.
        json: Print the outcome as JSON.
    """
    process.begin()
    if program is not None and task != "compiled":
        raise InvalidConfig(f"a program has no effect on {task}; leave out --program, or train compiled")
    changes = ({} if program is None else {"program": program}) | parse_changes(set_)
    if task == "hsp":
        outcome, text = _train_forest(out, config, changes, seed, process.chosen_device)
    elif task == "compiled":
        outcome, text = _train_compiled(out, config, changes, seed, process.chosen_device)
    elif task == "code":
        outcome, text = _train_code(out, config, changes, seed, process.chosen_device)
    else:
        outcome, text = _train_source(task, out, config, changes, seed, process.chosen_device)
    if json:
        print_json(outcome)
    else:
        say(text)


def _train_forest(
    out: Path, config: Path | None, changes: dict[str, Any], seed: int | None, device: str
) -> tuple[dict[str, Any], str]:
    from quantascope.acquisition.learner import learn, read_learner
    from quantascope.report.progress import one_run

    learner = read_learner(config, seed=seed).replace(changes)
    with one_run(out.name, learner.training.steps) as progress:
        curves = learn(learner, out, progress, device=device)
    outcome = {"run": str(out), **curves.summary()}
    form = "{run}: {acquired} of {tasks} tasks acquired after {steps:,} steps, {loss_bits:.4f} bits"
    return outcome, form.format(**outcome)


def _train_source(
    task: str, out: Path, config: Path | None, changes: dict[str, Any], seed: int | None, device: str
) -> tuple[dict[str, Any], str]:
    from quantascope.report.accuracy import accuracy_text
    from quantascope.report.progress import one_run
    from quantascope.sources.trained import accuracy_table, read_source_config, source_summary, train_source

    source_config = read_source_config(config, task=task, seed=seed).replace(changes)
    with one_run(out.name, source_config.steps) as progress:
        source = train_source(source_config, out, progress, device=device)
    table = accuracy_table(source)
    return {"run": str(out), **source_summary(source), "accuracy": table.to_dicts()}, accuracy_text(source, table)


def _train_code(
    out: Path, config: Path | None, changes: dict[str, Any], seed: int | None, device: str
) -> tuple[dict[str, Any], str]:
    from quantascope.report.progress import one_run
    from quantascope.runs.config import dotted
    from quantascope.runs.run_directory import read_settings
    from quantascope.sources.code import CodeConfig, code_summary, train_code

    wanted = CodeConfig().replace({**dotted(read_settings(config)), **changes})
    wanted = wanted if seed is None else wanted.replace({"seed": seed})
    with one_run(out.name, wanted.steps) as progress:
        source = train_code(wanted, out, progress, device=device)
    outcome = {"run": str(out), **code_summary(source)}
    form = "{run}: {bits_per_byte:.3f} bits per byte after {steps:,} steps, {byte_accuracy:.1%} of bytes right"
    return outcome, form.format(**outcome)


def _train_compiled(
    out: Path, config: Path | None, changes: dict[str, Any], seed: int | None, device: str
) -> tuple[dict[str, Any], str]:
    from quantascope.qmodel.compiled.fit import CompiledLearner, learn_compiled
    from quantascope.report.accuracy import compiled_json, compiled_text
    from quantascope.report.progress import one_run
    from quantascope.runs.run_directory import read_settings

    learner = CompiledLearner.parse(read_settings(config))
    learner = learner.replace({"seed": learner.seed if seed is None else seed, **changes})
    with one_run(out.name, learner.training.steps) as progress:
        done = learn_compiled(learner, out, progress, device=device)
    return compiled_json(out, done), compiled_text(out, done)
