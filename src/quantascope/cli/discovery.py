"""Commands of the discovery pipeline, in its order.

WHERE is a run folder, `FILE.py:NAME` of a `Source`, or a folder of Hugging Face checkpoints.
"""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from quantascope.cli.arguments import Changes, File, FitPreset, Number, ProgramName, parse_changes, print_json
from quantascope.cli.compute import ALL_CORES, ONE_PROCESS, ComputeFlags, Device, ProcessFlags
from quantascope.report.text import complain, say
from quantascope.runs.errors import InvalidConfig

if TYPE_CHECKING:
    from quantascope.discovery import FieldCost

Where = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="WHERE")]
TaskFile = Annotated[str | None, tyro.conf.arg(name="task", metavar="FILE.py:TASK", help_behavior_hint="")]
Panel = Annotated[str | None, tyro.conf.arg(metavar="PANEL", help_behavior_hint="")]
Table = Annotated[str | None, tyro.conf.arg(metavar="TABLE", help_behavior_hint="")]
Units = Annotated[tuple[str, ...], tyro.conf.arg(metavar="UNIT ...", help_behavior_hint="")]


def audit(
    where: Where,
    /,
    task: TaskFile = None,
    data: File = None,
    branch: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = None,
    pickles: bool = False,
    device: Device = None,
    json: bool = False,
) -> int:
    """Check that a series of checkpoints is one training trajectory; exit code 1 if it is not.

    Args:
        where: A run folder, any folder of checkpoints, FILE.py:NAME of a Source, or hf:OWNER/NAME, a series on the
            Hugging Face hub. Only the metadata of a series on the hub is checked.
        task: FILE.py:task, for a run that was trained on a task from a file.
        data: For Hugging Face checkpoints: their training data, to check losses as well.
        branch: The training stage, if a folder holds checkpoints of several stages.
        pickles: Also read .bin, .pt and .ckpt files, without executing code from them.
        device: Device on which losses are computed, if the checkpoints belong to a source.
        json: Print what was found as JSON.
    """
    from quantascope.discovery.audit import AuditReport, audit_run
    from quantascope.models.device import find_device
    from quantascope.runs.run_directory import is_run
    from quantascope.sources.open import open_source
    from quantascope.training.hub_audit import audit_hub

    find_device(device or "cpu")
    path = Path(where)
    if where.startswith("hf:"):
        report = AuditReport(path, 0, audit_hub(where.removeprefix("hf:"), branch=branch))
    elif ":" in where and not path.is_dir():
        source = open_source(where, device=device)
        report = audit_run(source.checkpoints.files[0][0].parent, source)
    else:
        opened = partial(open_source, where, task=task, data=data, branch=branch, device=device)
        report = audit_run(path, opened if is_run(path) or data else None, branch=branch, pickles=pickles)
    if json:
        print_json(report.to_json())
    else:
        say(report.text())
    return 1 if report.findings else 0


def discover(
    where: Where,
    /,
    rule: Literal["path", "gradient"] = "path",
    threshold: float = 0.03,
    panel: Panel = None,
    task: TaskFile = None,
    data: File = None,
    length: Number = None,
    examples: Number = None,
    branch: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = None,
    memory: float = 2.0,
    estimate: bool = False,
    intervals_: Annotated[Number, tyro.conf.arg(name="intervals")] = None,
    rate: Annotated[float | None, tyro.conf.arg(metavar="TFLOPS", help_behavior_hint="")] = None,
    compute: ComputeFlags = ALL_CORES,
    json: bool = False,
) -> None:
    """Find the quanta of a trained network: measure its priority field and factor it.

    Measurements are kept; changing the threshold only repeats the factorization.

    Args:
        where: A run folder, FILE.py:NAME of a Source, or a folder of Hugging Face checkpoints. With --estimate,
            also the config.json of a model that is not on this machine.
        rule: Integrate credit along the path between checkpoints, or use the paper's first-order credit at the
            start.
        threshold: Keep factors that explain at least this share of their layer's squared priority.
        panel: Held-out inputs on which factors are checked. Default: the task's own.
        task: FILE.py:task, for a run that was trained on a task from a file.
        data: For Hugging Face checkpoints: a text, or JSON lines or parquet of prompt and answer. Every tenth
            example is held out, unless a column `panel` assigns the examples. Later commands reuse this value.
        length: For a text: tokens per window (default: 64).
        examples: For Hugging Face checkpoints: use only the first EXAMPLES examples.
        branch: The training stage, if a folder holds checkpoints of several stages.
        memory: Gigabytes of memory for each worker's derivatives.
        estimate: Only estimate time and memory.
        intervals_: For a config.json: number of intervals between checkpoints (default: 40).
        rate: For a config.json: speed of a worker in 10^12 operations per second. Default: measured on this
            machine.
        json: Print what was found as JSON.
    """
    from quantascope.discovery.discover import discover as find
    from quantascope.discovery.measure import announced_cost
    from quantascope.report.discovery import discovery_json, print_discovery
    from quantascope.report.figures import write_discovery
    from quantascope.report.progress import intervals
    from quantascope.sources.open import open_source

    if estimate and where.endswith(".json"):
        _estimate_from_config(
            where, rule, memory, compute, json, length=length, examples=examples, intervals=intervals_, rate=rate
        )
        return
    if intervals_ is not None or rate is not None:
        raise InvalidConfig(
            "--intervals and --rate describe a model that is not here; give its config.json and --estimate"
        )
    asked = {"data": data, "length": length, "examples": examples, "branch": branch}
    source = open_source(where, task=task, **asked, device=compute.device)
    cost = announced_cost(source, rule, memory=memory * 1e9)
    if estimate:
        _print_cost(cost, json)
        return
    if cost:
        complain(f"training events: {cost}")
    with compute.pool() as executor, intervals() as progress:
        found = find(
            source,
            rule=rule,
            threshold=threshold,
            panel=panel,
            engine=executor,
            memory=memory * 1e9,
            progress=progress,
        )
    factors = found.save()
    figure = write_discovery(found)
    if json:
        print_json(discovery_json(found))
    else:
        print_discovery(found)
        say(f"factors  {factors}\nfigure   {figure}")


def _estimate_from_config(
    file: str,
    rule: Literal["path", "gradient"],
    memory: float,
    compute: ComputeFlags,
    json: bool,
    *,
    length: int | None,
    examples: int | None,
    intervals: int | None,
    rate: float | None,
) -> None:
    """Print the estimated cost of the priority field for the model that a config.json describes."""
    from quantascope.discovery.config_cost import WindowCost, measured_rate

    tokens = 64 if length is None else length
    each = WindowCost.of(Path(file), tokens)
    cost = each.field(
        rate=measured_rate(Path(file), tokens, compute.chosen_device) if rate is None else rate * 1e12,
        examples=256 if examples is None else examples,
        intervals=40 if intervals is None else intervals,
        rule=rule,
        memory=memory * 1e9,
        workers=compute.processes,
    )
    _print_cost(cost, json)


def _print_cost(cost: "FieldCost | None", json: bool) -> None:
    if json:
        print_json({} if cost is None else asdict(cost))
    else:
        say("the field is measured already" if cost is None else f"an estimate: {cost}")


def fit(
    where: Where,
    /,
    preset: FitPreset = "faithful",
    task: TaskFile = None,
    set_: Changes = (),
    seed: Number = None,
    replace: bool = False,
    process: ProcessFlags = ONE_PROCESS,
    json: bool = False,
) -> None:
    """Fit an executable Q-model to a network after `discover`; an interrupted fit is resumed.

    The Q-model is saved as qmodel/PRESET beside the factors and runs without the network.

    Args:
        where: The same WHERE as for quantascope discover.
        preset: faithful is the paper's fit; distilled also learns from inputs without labels; trusted also
            learns the effects of interventions in the network.
        task: FILE.py:task, for a run that was trained on a task from a file.
        set_: Change settings, as in --set updates=1000 model.writers=4.
        seed: Seed of the Q-model and of the order in which checkpoints are replayed.
        replace: Overwrite a fit with different settings, and everything derived from it.
        json: Print the outcome as JSON.
    """
    from quantascope.qmodel.recovered.fidelity import summary
    from quantascope.qmodel.recovered.fit import fit_config, fit_run
    from quantascope.report.progress import one_run
    from quantascope.report.qmodel import qmodel_text
    from quantascope.sources.open import open_source

    process.begin()
    source = open_source(where, task=task, device=process.device)
    config = fit_config(source, preset, ({} if seed is None else {"seed": seed}) | parse_changes(set_))
    with one_run(f"{source.folder.name}/{preset}", config.updates) as progress:
        outcome = summary(fit_run(source, config, progress, replace=replace))
    if json:
        print_json(outcome)
    else:
        say(qmodel_text(outcome))


def explain(
    where: Where,
    /,
    units: Annotated[
        Literal["factors", "qmodel"] | None, tyro.conf.arg(metavar="{factors,qmodel}", help_behavior_hint="")
    ] = None,
    preset: Annotated[
        FitPreset | None, tyro.conf.arg(metavar="{faithful,distilled,trusted}", help_behavior_hint="")
    ] = None,
    properties: Table = None,
    task: TaskFile = None,
    program: ProgramName = None,
    calibration: Panel = None,
    test: Panel = None,
    permutations: int = 20,
    compute: ComputeFlags = ALL_CORES,
    json: bool = False,
) -> None:
    """Describe when each unit of a network is active, and test each description on other inputs.

    The table is saved as semantics.parquet and semantics.md beside the units.

    Args:
        where: The same WHERE as for quantascope discover, or a run of quantascope train compiled.
        units: Factors or Q-model. Default: the Q-model if there is one, else the factors.
        preset: Preset of the Q-model. Default: faithful.
        properties: The property table: FILE.py:NAME of a function from inputs to Properties, a parquet file, or a
            program such as english. Default: the task's own, or one made from its tokens.
        task: FILE.py:task, for a run that was trained on a task from a file.
        program: FILE.py:entry, for a compiled Q-model whose program is in a file.
        calibration: Inputs on which descriptions are chosen. Default: the task's own.
        test: Inputs on which descriptions are scored. Default: the task's own.
        permutations: Number of times the search is repeated on shuffled labels.
        json: Print descriptions and detectors as JSON.
    """
    from quantascope.report.explanation import print_explanation, write_explanation
    from quantascope.report.progress import intervals
    from quantascope.semantics.explain import explain as describe
    from quantascope.semantics.subjects import find_subject

    subject = find_subject(
        where,
        units=units,
        preset=preset,
        properties=properties,
        task=task,
        program=program,
        device=compute.device,
    )
    panels = {"calibration": calibration, "test": test}
    with compute.pool() as executor, intervals() as progress:
        found = describe(subject, **panels, permutations=permutations, engine=executor, progress=progress)
    table, text = write_explanation(found)
    if json:
        print_json(found.to_json())
    else:
        print_explanation(found)
        say(f"table  {table}\ntext   {text}")
    if subject.warning:
        complain(f"warning: {subject.warning}")


def trace(
    where: Where,
    text: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="INPUT")],
    /,
    preset: FitPreset = "faithful",
    task: TaskFile = None,
    device: Device = None,
    all: bool = False,
    json: bool = False,
) -> None:
    """Trace a Q-model on one input: active gates, writers and channels, and the output of both models.

    The figure is saved beside the Q-model.

    Args:
        where: The same WHERE as for quantascope fit.
        text: The input in the task's notation: 346, 12+345, or a text.
        preset: Preset of the Q-model.
        task: FILE.py:task, for a run that was trained on a task from a file.
        device: Device that both models run on. Default: the source's device.
        all: Show every gate, writer and channel, not only the most active ones.
        json: Print the trace as JSON.
    """
    from quantascope.qmodel.recovered.fit import read_fit
    from quantascope.qmodel.recovered.trace import trace as follow
    from quantascope.report.figures import trace_file, write_trace
    from quantascope.report.qmodel import SHORT, print_trace
    from quantascope.sources.open import open_source

    fitted = read_fit(open_source(where, task=task, device=device), preset)
    followed = follow(fitted, text, fitted.descriptions)
    figure = write_trace(followed, trace_file(fitted.path, text))
    if json:
        print_json(followed.to_json())
    else:
        print_trace(followed, most=None if all else SHORT)
        say(f"figure  {figure}")


def intervene(
    where: Where,
    text: Annotated[
        tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[INPUT]", help_behavior_hint="")
    ] = None,
    /,
    delete_all: bool = False,
    replace_all: bool = False,
    delete: Units = (),
    replace: Units = (),
    ablate: Units = (),
    force: Units = (),
    panel: Panel = None,
    preset: FitPreset = "faithful",
    task: TaskFile = None,
    device: Device = None,
    json: bool = False,
) -> None:
    """Intervene on units of a Q-model and compare the effect in the Q-model and in the network.

    If no unit is named, every quantum is ablated in turn. The figure is saved beside the Q-model.

    Args:
        where: The same WHERE as for quantascope fit.
        text: Intervene on this input. Default: on a panel.
        delete_all: Children receive no messages.
        replace_all: Children receive the messages of another example of the same shape.
        delete: Channels to delete, as in 'L0.Q1->L1.Q0'.
        replace: Quanta whose children receive their messages of another example of the same shape.
        ablate: Quanta or writers to switch off, as in L0.Q1 or L0.Q1.W3.
        force: Quanta to keep switched on.
        panel: The inputs. Default: the task's own panel for interventions.
        preset: Preset of the Q-model.
        task: FILE.py:task, for a run that was trained on a task from a file.
        device: Device that both models run on. Default: the source's device.
        json: Print effects by intervention, token and event as JSON.
    """
    from quantascope.qmodel.recovered.fit import read_fit
    from quantascope.qmodel.recovered.intervene import intervene as break_units
    from quantascope.report.figures import write_interventions
    from quantascope.report.qmodel import print_interventions
    from quantascope.sources.open import open_source

    fitted = read_fit(open_source(where, task=task, device=device), preset)
    asked = [
        *(["delete-all"] if delete_all else []),
        *(["replace-all"] if replace_all else []),
        *(f"delete {channel}" for channel in delete),
        *(f"replace {unit}" for unit in replace),
        *(f"ablate {unit}" for unit in ablate),
        *(f"force {unit}" for unit in force),
    ]
    done = break_units(fitted, asked or [f"ablate {name}" for name in fitted.model.names], text=text, panel=panel)
    figure = write_interventions(done, fitted.path / "interventions.png")
    if json:
        print_json(done.to_json())
    else:
        print_interventions(done)
        say(f"figure  {figure}")
