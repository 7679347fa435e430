"""The command line. Each command is a thin function; its docstring is its help."""

import contextlib
import functools
import importlib.metadata
import io
import itertools
import json
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from quantascope.errors import InvalidConfig, QuantascopeError

Claim = Literal[
    "flat-acquisition", "composed-staircase", "child-parent-order", "acquisition-clock", "hsp-demand",
    "parameter-scaling", "data-scaling", "joint-frontier", "finite-size", "number-naming-data", "recover-quanta",
    "ordering", "seed-stability", "recovered-qmodel", "message-interventions", "source-faithfulness",
    "qmodel-frontier", "semantics", "compiled-qmodel", "guided-training", "guidance-data-efficiency",
    "guidance-other-programs",
]  # fmt: skip
Preset = Literal["quick", "full", "paper"]
Recipe = Literal["faithful", "distilled"]
Changes = Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="KEY=VALUE ...", help_behavior_hint="")]
Folder = Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")]
Number = Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="")]


def reproduce(
    claim: tyro.conf.Positional[Claim],
    /,
    preset: Preset = "quick",
    set_: Changes = (),
    out: Folder = None,
    engine: Annotated[str, tyro.conf.arg(metavar="local|dask://HOST:PORT")] = "local",
    workers: Number = None,
    threads: int = 1,
    publish: Folder = None,
    json: bool = False,
) -> None:
    """Reproduce a claim of the paper: train, measure, draw.

    Runs that are already there are reused, interrupted ones taken up again.

    Args:
        claim: Which claim.
        preset: quick takes a minute on two cores; full is the reproduction on the scoreboard; paper is the
            paper's own set of runs.
        set_: Change settings of the preset, as in --set learner.training.steps=500.
        out: Folder for runs, result and figure; runs/CLAIM/PRESET if not given.
        engine: Where the runs are made: processes of this machine, or the scheduler of a dask cluster.
        workers: Processes; as many as the cores hold if not given.
        threads: Threads of each process.
        publish: Also copy result and figure into this folder of committed results.
        json: Print the result as JSON instead of a table.
    """
    from quantascope.engine import open_engine
    from quantascope.experiments import CLAIMS
    from quantascope.experiments import reproduce as run
    from quantascope.report.figures import write_figure
    from quantascope.report.progress import SweepDisplay
    from quantascope.report.tables import print_result, publish_result

    config = CLAIMS[claim].presets[preset].replace(_parse_changes(set_))
    if publish and config != CLAIMS[claim].presets[preset]:
        raise InvalidConfig(f"settings of the {preset} preset were changed; publish it without --set")
    folder = out or Path("runs") / claim / (f"{preset}-{config.hash()}" if set_ else preset)
    if preset == "paper":
        _announce_cost(CLAIMS[claim], config, engine=engine, threads=threads, workers=workers)
    shares = CLAIMS[claim].shares
    shared = Path("runs") / shares if shares and out is None else None
    with open_engine(engine, threads=threads, workers=workers) as executor, SweepDisplay() as display:
        done = run(
            CLAIMS[claim], config, preset=preset, folder=folder, engine=executor, watch=display, shared=shared
        )
    figure = write_figure(done)
    if publish:
        publish_result(done, publish)
    if json:
        _print_json(done.result.to_json())
    else:
        print_result(done.result)
        print(f"result  {folder / 'result.json'}\nfigure  {figure}")


def _announce_cost(claim: Any, config: Any, *, engine: str, threads: int, workers: int | None) -> None:
    """Say what the paper's protocol takes here before it is begun."""
    from quantascope.engine import LOCAL, cores
    from quantascope.experiments.hsp_learner import use_threads

    if claim.cost is None:
        return
    use_threads(threads)
    processes = (workers or max(1, cores() // threads)) if engine == LOCAL else 1
    jobs = list(claim.runs(config).values())
    cost = claim.cost(jobs, processes)
    several = "process" if processes == 1 else "processes"
    where = (
        f"{processes} {several} of this machine" if engine == LOCAL else "one process like those of this machine"
    )
    print(
        f"{len(jobs)} runs of up to {max(claim.steps(job) for job in jobs):,} steps: about {cost} on {where}",
        file=sys.stderr,
        flush=True,
    )


def scoreboard(
    claims: Annotated[
        tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="CLAIM ...", help_behavior_hint="")
    ] = (),
    /,
    results: Path = Path("results"),
    stated: bool = False,
    json: bool = False,
    markdown: bool = False,
) -> None:
    """Show every figure of the paper beside the committed results.

    Args:
        claims: Only these claims; all if none is given.
        results: Folder with paper.toml and the results.
        stated: Only figures that the paper states.
        json: Print a JSON list of rows.
        markdown: Print a Markdown table of the rows that were run.
    """
    from quantascope.report.scoreboard import as_markdown
    from quantascope.report.scoreboard import scoreboard as rows_of
    from quantascope.report.tables import print_scoreboard

    rows = rows_of(results)
    known = list(dict.fromkeys(row.claim for row in rows))
    for claim in claims:
        if claim not in known:
            raise InvalidConfig(f"unknown claim '{claim}'; known claims are {', '.join(known)}")
    rows = [row for row in rows if (not claims or row.claim in claims) and (row.stated or not stated)]
    if json:
        _print_json([row.to_json() for row in rows])
    elif markdown:
        print(as_markdown([row for row in rows if row.verdict != "not run"]))
    else:
        print_scoreboard(rows)


def train(
    task: tyro.conf.Positional[Literal["hsp", "number-naming", "compiled"]],
    /,
    out: Path,
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None,
    set_: Changes = (),
    program: Annotated[str | None, tyro.conf.arg(metavar="PROGRAM", help_behavior_hint="")] = None,
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
    from quantascope.experiments.hsp_learner import use_threads

    use_threads(threads)
    if program is not None and task != "compiled":
        raise InvalidConfig(f"a program has no effect on {task}; leave out --program, or train compiled")
    learn = {"hsp": _learn_forest, "number-naming": _learn_naming, "compiled": _learn_compiled}[task]
    given = {} if program is None else {"program": program}
    outcome, shown = learn(out, config, {**given, **_parse_changes(set_)}, seed)
    if json:
        _print_json(outcome)
    else:
        print(shown)


def _learn_forest(
    out: Path, config: Path | None, changes: dict[str, Any], seed: int | None
) -> tuple[dict[str, Any], str]:
    from quantascope.experiments.hsp_learner import learn, read_learner
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
    from quantascope.experiments.naming_source import REPORTED, learn_naming, naming_table, read_naming_config
    from quantascope.report.progress import one_run
    from quantascope.report.tables import naming_text

    source_config = read_naming_config(config, seed=seed).replace(changes)
    with one_run(out.name, source_config.steps) as progress:
        source = learn_naming(source_config, out, progress)
    table = naming_table(source, REPORTED)
    outcome = {"run": str(out), **source.summary(), "accuracy": table.to_dicts()}
    return outcome, naming_text(source, table)


def discover(
    run: tyro.conf.Positional[Path],
    /,
    rule: Literal["path", "gradient"] = "path",
    threshold: float = 0.03,
    panel: str = "priority",
    memory: float = 2.0,
    engine: Annotated[str, tyro.conf.arg(metavar="local|dask://HOST:PORT")] = "local",
    workers: Number = None,
    threads: int = 1,
    json: bool = False,
) -> None:
    """Find the quanta of a trained source: measure its priority field and factor it.

    What was measured is kept in the run; another threshold only factors again.

    Args:
        run: The run directory of a source.
        rule: Credit along the path between checkpoints, or the paper's first-order credit at their start.
        threshold: A factor must explain this share of its layer's squared priority.
        panel: Held-out numbers on which the factors are checked.
        memory: Gigabytes that a worker's derivatives may take.
        engine: Where intervals are measured: processes of this machine, or the scheduler of a dask cluster.
        workers: Processes; as many as the cores hold if not given.
        threads: Threads of each process.
        json: Print what was found as JSON.
    """
    from quantascope.engine import open_engine
    from quantascope.experiments.discovery import discover as find
    from quantascope.experiments.naming_source import read_source
    from quantascope.report.figures import write_discovery
    from quantascope.report.progress import intervals
    from quantascope.report.tables import print_discovery

    source = read_source(run)
    with open_engine(engine, threads=threads, workers=workers) as executor, intervals() as told:
        found = find(
            source, rule=rule, threshold=threshold, panel=panel, engine=executor, memory=memory * 1e9, told=told
        )
    factors = found.save()
    figure = write_discovery(found)
    if json:
        _print_json(found.to_json())
    else:
        print_discovery(found)
        print(f"factors  {factors}\nfigure   {figure}")
    if not found.trained.reliable:
        print(f"quantascope: warning: {found.warning}", file=sys.stderr)


def fit(
    run: tyro.conf.Positional[Path],
    /,
    recipe: Recipe = "faithful",
    set_: Changes = (),
    seed: Number = None,
    threads: int = 1,
    json: bool = False,
) -> None:
    """Fit an executable Q-model to a source whose quanta were found; an interrupted fit is taken up again.

    The Q-model is RUN/qmodel/RECIPE and runs without the source.

    Args:
        run: The run directory of a source, after quantascope discover.
        recipe: The paper's recipe, or one that also learns from inputs without labels.
        set_: Change settings, as in --set updates=1000 model.writers=4.
        seed: Seed of the Q-model and of the order of its replays.
        threads: Threads to use.
        json: Print the outcome as JSON.
    """
    from quantascope.experiments.fidelity import summary
    from quantascope.experiments.hsp_learner import use_threads
    from quantascope.experiments.naming_source import read_source
    from quantascope.experiments.recovered_learner import fit_config, fit_run
    from quantascope.report.progress import one_run
    from quantascope.report.tables import qmodel_text

    use_threads(threads)
    source = read_source(run)
    config = fit_config(source, recipe, ({} if seed is None else {"seed": seed}) | _parse_changes(set_))
    with one_run(f"{run.name}/{recipe}", config.updates) as progress:
        outcome = summary(fit_run(source, config, progress))
    if json:
        _print_json(outcome)
    else:
        print(qmodel_text(outcome))


def explain(
    run: tyro.conf.Positional[Path],
    /,
    units: Annotated[
        Literal["factors", "qmodel"] | None, tyro.conf.arg(metavar="{factors,qmodel}", help_behavior_hint="")
    ] = None,
    recipe: Recipe = "faithful",
    properties: Annotated[str | None, tyro.conf.arg(metavar="PROGRAM", help_behavior_hint="")] = None,
    calibration: Annotated[str | None, tyro.conf.arg(metavar="PANEL", help_behavior_hint="")] = None,
    test: Annotated[str | None, tyro.conf.arg(metavar="PANEL", help_behavior_hint="")] = None,
    permutations: int = 20,
    engine: Annotated[str, tyro.conf.arg(metavar="local|dask://HOST:PORT")] = "local",
    workers: Number = None,
    threads: int = 1,
    json: bool = False,
) -> None:
    """Name the units of a run: the best description of when each is active, tested on other inputs.

    The table is kept as semantics.parquet and semantics.md beside the units.

    Args:
        run: The run directory of a source after quantascope discover, or after quantascope fit; or that of a
            compiled Q-model.
        units: Factors or Q-model of a source; its Q-model if there is one, else its factors, if not given.
        recipe: Which of the run's Q-models.
        properties: Describe in the words of this program instead of the library of number naming.
        calibration: Inputs on which descriptions are chosen; the task's own if not given.
        test: Inputs on which they are scored; the task's own if not given.
        permutations: How often the search is repeated on shuffled labels.
        engine: Where the priority of factors is measured: processes of this machine, or a dask cluster.
        workers: Processes; as many as the cores hold if not given.
        threads: Threads of each process.
        json: Print names and the audit of zeros as JSON.
    """
    from quantascope.engine import open_engine
    from quantascope.experiments.explanation import explain as name
    from quantascope.experiments.explanation import subject_of
    from quantascope.report.explanation import print_explanation, write_explanation
    from quantascope.report.progress import intervals

    subject = subject_of(run, units=units, recipe=recipe, properties=properties)
    panels = {"calibration": calibration, "test": test}
    with open_engine(engine, threads=threads, workers=workers) as executor, intervals() as told:
        found = name(subject, **panels, permutations=permutations, engine=executor, told=told)
    table, text = write_explanation(found)
    if json:
        _print_json(found.to_json())
    else:
        print_explanation(found)
        print(f"table  {table}\ntext   {text}")
    if subject.warning:
        print(f"quantascope: warning: {subject.warning}", file=sys.stderr)


def trace(
    run: tyro.conf.Positional[Path],
    number: tyro.conf.Positional[int],
    /,
    recipe: Recipe = "faithful",
    json: bool = False,
) -> None:
    """Watch a Q-model name a number: active gates and writers, channels, and both models' probabilities.

    The figure is drawn beside the Q-model.

    Args:
        run: The run directory of a source, after quantascope fit.
        number: From 1 to 999,999.
        recipe: Which of the run's Q-models.
        json: Print the trace as JSON.
    """
    from quantascope.experiments.naming_source import read_source
    from quantascope.experiments.recovered_learner import read_fit
    from quantascope.experiments.trace import trace as follow
    from quantascope.report.figures import write_trace
    from quantascope.report.tables import print_trace

    fitted = read_fit(read_source(run), recipe)
    followed = follow(fitted, number, fitted.descriptions)
    figure = write_trace(followed, fitted.path / f"trace-{number}.png")
    if json:
        _print_json(followed.to_json())
    else:
        print_trace(followed)
        print(f"figure  {figure}")


def audit(run: tyro.conf.Positional[Path], /, json: bool = False) -> int:
    """Check that a folder of checkpoints is one training trajectory; exit code 1 if it is not.

    Args:
        run: A run directory, or any folder of safetensors checkpoints.
        json: Print what was found as JSON.
    """
    from quantascope.experiments.source_audit import audit_run

    report = audit_run(run)
    if json:
        _print_json(report.to_json())
    else:
        print(report.text())
    return 1 if report.findings else 0


def _learn_compiled(
    out: Path, config: Path | None, changes: dict[str, Any], seed: int | None
) -> tuple[dict[str, Any], str]:
    from quantascope.experiments.compiled_learner import CompiledLearner, learn_compiled
    from quantascope.report.progress import one_run
    from quantascope.run import read_settings

    learner = CompiledLearner.parse(read_settings(config))
    learner = learner.replace({"seed": learner.seed if seed is None else seed, **changes})
    with one_run(out.name, learner.training.steps) as progress:
        done = learn_compiled(learner, out, progress)
    text = _accuracy_text(out, done.accuracy, learner.program, learner.trained_on)
    return {"run": str(out), **done.accuracy}, text


def guide(
    out: Path,
    teacher: Folder = None,
    program: Annotated[str | None, tyro.conf.arg(metavar="PROGRAM", help_behavior_hint="")] = None,
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None,
    set_: Changes = (),
    seed: Number = None,
    threads: int = 1,
    json: bool = False,
) -> None:
    """Train an ordinary Transformer whose blocks follow a program's Q-model; the Q-model is gone afterwards.

    The Transformer is OUT/model.safetensors.

    Args:
        out: The run directory.
        teacher: A run of quantascope train compiled; if not given, one is trained in OUT/teacher.
        program: The program, if no teacher is given: FILE.py, FILE.py:entry, or a name as in quantascope compile
            (default: english).
        config: JSON file with settings that differ from the default.
        set_: Change settings, as in --set weight=0 model.blocks=5; weight 0 is training without guidance.
        seed: Seed of the Transformer, and of the teacher that is trained here.
        threads: Threads to use.
        json: Print the outcome as JSON.
    """
    from quantascope.experiments.compiled_learner import check_lesson, learn_compiled, read_compiled
    from quantascope.experiments.guided_learner import GuidedLearner, check_guidance, is_guided, learn_guided
    from quantascope.experiments.hsp_learner import use_threads
    from quantascope.report.progress import one_run
    from quantascope.run import RunDirectory, read_settings

    use_threads(threads)
    if teacher and program:
        raise InvalidConfig(f"--program {program} has no effect beside the teacher in {teacher}; give either")
    learner = GuidedLearner.parse(read_settings(config))
    taught = read_compiled(teacher) if teacher else None
    settings = {"seed": learner.seed if seed is None else seed}
    asked = {"program": program} if program else {}
    lesson = taught.config if taught else learner.teacher.replace({**asked, **settings})
    learner = learner.replace({**settings, "teacher": lesson.model_dump(mode="json"), **_parse_changes(set_)})
    if not is_guided(out):
        check_lesson(learner.teacher)
        check_guidance(learner)
    RunDirectory.open(out, learner)
    if learner.weight and taught is None:
        with one_run(f"{out.name}/teacher", learner.teacher.training.steps) as progress:
            taught = learn_compiled(learner.teacher, out / "teacher", progress)
    with one_run(out.name, learner.training.steps) as progress:
        done = learn_guided(learner, out, taught, progress)
    if json:
        _print_json({"run": str(out), **done.accuracy})
    else:
        print(_accuracy_text(out, done.accuracy, learner.teacher.program, learner.teacher.trained_on))


def simulate(
    roots: int = 8,
    branching: int = 2,
    depth: int = 5,
    alpha: float = 0.2,
    clock: Literal["parallel", "sequential"] = "parallel",
    json: bool = False,
) -> None:
    """Run Q-dynamics on a regular forest with prescribed demand: no network, any size.

    Nodes of one depth are one class, so a billion quanta cost as much as ten. Beside each depth stands the
    exponent that one would fit to a forest that ends there; the clock has no effect on it.

    Args:
        roots: Trees in the forest.
        branching: Children of a node.
        depth: Deepest level.
        alpha: Demand exponent; closure demand falls as branching^-(1 + alpha) per level.
        clock: Every accessible quantum advances at once, or the one of highest priority alone.
        json: Print the classes as JSON.
    """
    from quantascope.report.tables import print_simulation, simulation_rows
    from quantascope.theory import parallel_classes, prescribed_classes, sequential_classes, size_biases

    classes = prescribed_classes(roots=roots, branching=branching, depth=depth, alpha=alpha)
    outcome = parallel_classes(classes) if clock == "parallel" else sequential_classes(classes)
    depths = range(2, depth + 1)
    sizes = {s.depth: s for s in size_biases(roots=roots, branching=branching, depths=depths, alpha=alpha)}
    if json:
        _print_json({"quanta": int(classes.counts.sum()), "classes": simulation_rows(outcome, sizes)})
    else:
        print_simulation(outcome, sizes, alpha)


def compile(
    program: tyro.conf.Positional[str],
    /,
    figure: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None,
    json: bool = False,
) -> None:
    """Compile a program into a Q-graph: ordinary Python whose annotated subroutines become quanta.

    Args:
        program: FILE.py or FILE.py:entry, or one that comes with quantascope: english, french, addition.
        figure: Draw the graph into this file (png, svg or pdf).
        json: Print quanta, edges and levels as JSON.
    """
    from quantascope.program import compile_program
    from quantascope.programs import find_program
    from quantascope.report.graph_drawing import write_drawing
    from quantascope.report.tables import print_program

    compiled = compile_program(find_program(program))
    if figure:
        write_drawing(compiled.graph, figure)
    if json:
        _print_json(compiled.to_json())
    else:
        print_program(compiled)


COMMANDS = (train, audit, discover, fit, explain, trace, compile, guide, simulate, reproduce, scoreboard)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0 or its own code, or 2 for an error that the user can mend, or 130 for an interrupt."""
    try:
        # An end by the system is met like one by the user: workers go, and the last saved state stays.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if (sys.argv[1:] if arguments is None else arguments) == ["--version"]:
            print(f"quantascope {importlib.metadata.version('quantascope')}")
            return 0
        with _warnings_in_a_line():
            return _parse(arguments)() or 0
    except QuantascopeError as error:
        print(f"quantascope: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        # Workers may still be in a long step before they save; who asks again does not want to wait for them.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: [worker.kill() for worker in multiprocessing.active_children()])
        print("quantascope: interrupted; the same command takes up where it stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # A reader such as `head` has gone; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


@contextlib.contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Warnings as errors are shown: without the place in the code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: print(f"quantascope: warning: {message}", file=sys.stderr)
        yield


def _parse(arguments: list[str] | None) -> Callable[[], int | None]:
    """The command that the arguments ask for, ready to run."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.extras.subcommand_cli_from_dict(
                {command.__name__: _deferred(command) for command in COMMANDS},
                prog="quantascope",
                description="See a network's training as the acquisition of discrete, reusable computations.",
                args=arguments,
                config=(tyro.conf.FlagCreatePairsOff,),
            )
    except SystemExit as stop:
        if not stop.code:
            raise
        raise InvalidConfig(_first_paragraph(complaint.getvalue())) from None


def _first_paragraph(box: str) -> str:
    """The complaint inside tyro's box, without its frame, title and advice, as one line."""
    lines = [line.strip("─╭╮╰╯│ ") for line in box.splitlines()[1:]]
    return " ".join(itertools.takewhile(bool, lines)).removesuffix(".") + "; see quantascope --help"


def _deferred(command: Callable[..., int | None]) -> Callable[..., Callable[[], int | None]]:
    """Keeps parsing apart from running, so that only complaints about arguments are caught as such."""

    @functools.wraps(command)
    def bound(*positional: Any, **named: Any) -> Callable[[], int | None]:
        return functools.partial(command, *positional, **named)

    return bound


def _parse_changes(changes: tuple[str, ...]) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals or not key:
            raise InvalidConfig(f"'{change}' is not a setting; write KEY=VALUE, as in training.steps=500")
        try:
            parsed[key] = json.loads(text)
        except ValueError:
            parsed[key] = text
    return parsed


def _accuracy_text(out: Path, accuracy: dict[str, float], program: str, learned: str) -> str:
    from quantascope.experiments.lesson import lesson

    task = lesson(program).task
    notes = [
        f"note  {known:,} of the {len(task.panel(panel)):,} inputs of {panel} were trained on"
        for panel in task.reported
        if (known := task.in_both(panel, learned))
    ]
    return "\n".join([*(f"{name:32} {value:.1%}" for name, value in accuracy.items()), *notes, f"run  {out}"])


def _print_json(values: Any) -> None:
    print(json.dumps(values, indent=2))


if __name__ == "__main__":
    sys.exit(main())
