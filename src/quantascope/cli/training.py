"""The command that trains a network of ours."""

from pathlib import Path
from typing import Any, Literal

import tyro

from quantascope.cli.arguments import Changes, File, Number, ProgramName, parse_changes, print_json
from quantascope.cli.programs import accuracy_text
from quantascope.runs.errors import InvalidConfig


def train(
    task: tyro.conf.Positional[Literal["hsp", "number-naming", "compiled"]],
    /,
    out: Path,
    config: File = None,
    set_: Changes = (),
    program: ProgramName = None,
    seed: Number = None,
    threads: int = 1,
    json: bool = False,
) -> None:
    """Train one network and keep its run directory; an interrupted run is taken up again.

    Args:
        task: What to learn: a forest of sparse parities with an MLP, names of numbers with a Transformer, or a
            program with a network of the shape of its graph.
        out: The run directory.
        config: JSON file with settings that differ from the default.
        set_: Change settings, as in --set training.steps=2000 (hsp, compiled) or --set steps=2000 (number-naming).
        program: For compiled, the program: FILE.py, FILE.py:entry, or a name as in quantascope compile.
        seed: Seed of the network and its batches; those of the config if not given.
        threads: Threads to use.
        json: Print the outcome as JSON.
    """
    from quantascope.runs.engine import use_threads

    use_threads(threads)
    if program is not None and task != "compiled":
        raise InvalidConfig(f"a program has no effect on {task}; leave out --program, or train compiled")
    learn = {"hsp": _learn_forest, "number-naming": _learn_naming, "compiled": _learn_compiled}[task]
    given = {} if program is None else {"program": program}
    outcome, shown = learn(out, config, {**given, **parse_changes(set_)}, seed)
    if json:
        print_json(outcome)
    else:
        print(shown)


def _learn_forest(
    out: Path, config: Path | None, changes: dict[str, Any], seed: int | None
) -> tuple[dict[str, Any], str]:
    from quantascope.acquisition.learner import learn, read_learner
    from quantascope.report.progress import one_run

    learner = read_learner(config, seed=seed).replace(changes)
    with one_run(out.name, learner.training.steps) as progress:
        curves = learn(learner, out, progress)
    outcome = {"run": str(out), **curves.summary()}
    form = "{run}: {acquired} of {tasks} tasks acquired after {steps:,} steps, {loss_bits:.4f} bits"
    return outcome, form.format(**outcome)


def _learn_naming(
    out: Path, config: Path | None, changes: dict[str, Any], seed: int | None
) -> tuple[dict[str, Any], str]:
    from quantascope.report.progress import one_run
    from quantascope.report.tables import naming_text
    from quantascope.sources.trained import REPORTED, learn_naming, naming_table, read_naming_config

    source_config = read_naming_config(config, seed=seed).replace(changes)
    with one_run(out.name, source_config.steps) as progress:
        source = learn_naming(source_config, out, progress)
    table = naming_table(source, REPORTED)
    outcome = {"run": str(out), **source.summary(), "accuracy": table.to_dicts()}
    return outcome, naming_text(source, table)


def _learn_compiled(
    out: Path, config: Path | None, changes: dict[str, Any], seed: int | None
) -> tuple[dict[str, Any], str]:
    from quantascope.qmodel.compiled.fit import CompiledLearner, learn_compiled
    from quantascope.report.progress import one_run
    from quantascope.runs.run_directory import read_settings

    learner = CompiledLearner.parse(read_settings(config))
    learner = learner.replace({"seed": learner.seed if seed is None else seed, **changes})
    with one_run(out.name, learner.training.steps) as progress:
        done = learn_compiled(learner, out, progress)
    text = accuracy_text(out, done.accuracy, learner.program, learner.trained_on)
    return {"run": str(out), **done.accuracy}, text
