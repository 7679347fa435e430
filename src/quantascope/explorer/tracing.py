"""The Q-model views: a trace, one input under interventions, and interventions on a panel.

The numbers are the same as in the JSON output of the corresponding commands.
"""

from typing import Any

from quantascope.explorer.context import prompts_of, typed
from quantascope.explorer.request import Request
from quantascope.explorer.source_run import SourceRun, described
from quantascope.explorer.values import thinned
from quantascope.qmodel.recovered.fidelity import panel_for
from quantascope.qmodel.recovered.intervene import KINDS, intervene
from quantascope.qmodel.recovered.preview import preview
from quantascope.qmodel.recovered.trace import trace
from quantascope.runs.errors import InvalidConfig, QuantascopeError

SUGGESTED = 24
MOST_INPUTS = 4096
"""Largest number of inputs of a panel for interactive interventions."""


def inputs(run: SourceRun) -> dict[str, Any]:
    """Suggested inputs, half from the training panel and half from the test panel."""
    task, found = run.source.sequence_task, list[str]()
    for panel in dict.fromkeys(["training", run.source.task.roles.test or "training"]):
        known = run.source.inputs(panel)
        some = [known[place] for place in thinned(len(known), SUGGESTED // 2)]
        found += [typed(task, one, prompt) for one, prompt in zip(some, prompts_of(task, some), strict=True)]
    kept = [text for text in dict.fromkeys(found) if text]
    preset = run.preset(None)
    return {"inputs": kept, "presets": run.presets, "preset": preset, "placeholder": kept[0] if kept else ""}


def traced(run: SourceRun, asked: Request) -> dict[str, Any]:
    """The trace of an input, as `quantascope trace --json` prints it."""
    preset = _preset(run, asked)
    return trace(run.fit(preset), asked.text("input"), _says(run, preset)).to_json()


def previewed(run: SourceRun, asked: Request) -> dict[str, Any]:
    """Both models on one input, before and after joint interventions."""
    preset = _preset(run, asked)
    return preview(run.fit(preset), asked.text("input"), asked.lines("unit"), _says(run, preset)).to_json()


def units(run: SourceRun, asked: Request) -> dict[str, Any]:
    """The units and channels that can be changed, and the panels."""
    model = run.fit(_preset(run, asked)).model
    return {
        "kinds": list(KINDS),
        "quanta": list(model.names),
        "writers": [name for own in model.writer_names for name in own],
        "channels": [[model.names[edge.parent], model.names[edge.child]] for edge in model.channels.edges],
        "panels": _panels(run),
    }


def intervened(run: SourceRun, asked: Request) -> dict[str, Any]:
    """Effects of separate interventions, as printed by `quantascope intervene --json`, but not by event."""
    fitted, text = run.fit(_preset(run, asked)), asked.parameters.get("input")
    panel = None if text else asked.text("panel", panel_for(run.source, "causal"))
    if panel and panel not in _panels(run):
        raise InvalidConfig(
            f"panel '{panel}' is missing or has more than {MOST_INPUTS:,} inputs; run {run.command('intervene')}"
        )
    done = intervene(fitted, asked.lines("units"), text=asked.text("input") if text else None, panel=panel)
    effects = done.to_json()
    for one in effects["interventions"]:
        for effect in (one["qmodel"], one["source"]):
            if effect is not None:
                del effect["by_event"]
    return effects


def _panels(run: SourceRun) -> list[str]:
    """Panels that are small enough, the causal panel first."""

    def small() -> list[str]:
        roles = run.source.task.roles
        reported = run.source.sequence_task.reported
        wanted = (roles.causal, roles.held_out, roles.test, *reported, "training")
        return [panel for panel in dict.fromkeys(wanted) if panel and _is_small(run, panel)]

    return run.kept.get("panels", small, of=run.source)


def _is_small(run: SourceRun, panel: str) -> bool:
    try:
        return len(run.source.inputs(panel)) <= MOST_INPUTS
    except QuantascopeError:
        return False


def _preset(run: SourceRun, asked: Request) -> str:
    return run.preset(asked.one_of("preset", run.presets) if "preset" in asked.parameters else None)


def _says(run: SourceRun, preset: str) -> dict[str, str]:
    return described(run.descriptions(preset))
