"""Commands of the discovery pipeline, in its order."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import tyro

from quantascope.cli.arguments import Changes, Engine, Number, ProgramName, Recipe, parse_changes, print_json


def audit(run: tyro.conf.Positional[Path], /, json: bool = False) -> int:
    """Check that a folder of checkpoints is one training trajectory; exit code 1 if it is not.

    Args:
        run: A run directory, or any folder of safetensors checkpoints.
        json: Print what was found as JSON.
    """
    from quantascope.discovery.audit import audit_run

    report = audit_run(run)
    if json:
        print_json(report.to_json())
    else:
        print(report.text())
    return 1 if report.findings else 0


def discover(
    run: tyro.conf.Positional[Path],
    /,
    rule: Literal["path", "gradient"] = "path",
    threshold: float = 0.03,
    panel: str = "priority",
    memory: float = 2.0,
    engine: Engine = "local",
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
    from quantascope.discovery.discover import discover as find
    from quantascope.report.figures import write_discovery
    from quantascope.report.progress import intervals
    from quantascope.report.tables import print_discovery
    from quantascope.runs.engine import open_engine
    from quantascope.sources.trained import read_source

    source = read_source(run)
    with open_engine(engine, threads=threads, workers=workers) as executor, intervals() as told:
        found = find(
            source, rule=rule, threshold=threshold, panel=panel, engine=executor, memory=memory * 1e9, told=told
        )
    factors = found.save()
    figure = write_discovery(found)
    if json:
        print_json(found.to_json())
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
    from quantascope.qmodel.recovered.fidelity import summary
    from quantascope.qmodel.recovered.fit import fit_config, fit_run
    from quantascope.report.progress import one_run
    from quantascope.report.tables import qmodel_text
    from quantascope.runs.engine import use_threads
    from quantascope.sources.trained import read_source

    use_threads(threads)
    source = read_source(run)
    config = fit_config(source, recipe, ({} if seed is None else {"seed": seed}) | parse_changes(set_))
    with one_run(f"{run.name}/{recipe}", config.updates) as progress:
        outcome = summary(fit_run(source, config, progress))
    if json:
        print_json(outcome)
    else:
        print(qmodel_text(outcome))


def explain(
    run: tyro.conf.Positional[Path],
    /,
    units: Annotated[
        Literal["factors", "qmodel"] | None, tyro.conf.arg(metavar="{factors,qmodel}", help_behavior_hint="")
    ] = None,
    recipe: Recipe = "faithful",
    properties: ProgramName = None,
    calibration: Annotated[str | None, tyro.conf.arg(metavar="PANEL", help_behavior_hint="")] = None,
    test: Annotated[str | None, tyro.conf.arg(metavar="PANEL", help_behavior_hint="")] = None,
    permutations: int = 20,
    engine: Engine = "local",
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
    from quantascope.report.explanation import print_explanation, write_explanation
    from quantascope.report.progress import intervals
    from quantascope.runs.engine import open_engine
    from quantascope.semantics.explain import explain as name
    from quantascope.semantics.explain import subject_of

    subject = subject_of(run, units=units, recipe=recipe, properties=properties)
    panels = {"calibration": calibration, "test": test}
    with open_engine(engine, threads=threads, workers=workers) as executor, intervals() as told:
        found = name(subject, **panels, permutations=permutations, engine=executor, told=told)
    table, text = write_explanation(found)
    if json:
        print_json(found.to_json())
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
    from quantascope.qmodel.recovered.fit import read_fit
    from quantascope.qmodel.recovered.trace import trace as follow
    from quantascope.report.figures import write_trace
    from quantascope.report.tables import print_trace
    from quantascope.sources.trained import read_source

    fitted = read_fit(read_source(run), recipe)
    followed = follow(fitted, number, fitted.descriptions)
    figure = write_trace(followed, fitted.path / f"trace-{number}.png")
    if json:
        print_json(followed.to_json())
    else:
        print_trace(followed)
        print(f"figure  {figure}")
