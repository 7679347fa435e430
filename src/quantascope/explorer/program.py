"""The program view: the graph with the source of each quantum, and an input run on program and Q-model."""

from dataclasses import asdict
from typing import Any

import torch

from quantascope.explorer.program_run import ProgramRun
from quantascope.explorer.request import Request
from quantascope.explorer.shown_run import trouble
from quantascope.explorer.values import thinned
from quantascope.program.executed import execute_input
from quantascope.programs import is_built_in
from quantascope.qmodel.compiled.fit import KEPT_PROGRAM
from quantascope.qmodel.recovered.trace import top
from quantascope.quanta.graph import EdgeKind
from quantascope.runs.errors import InvalidConfig, QuantascopeError
from quantascope.tasks.events import Events
from quantascope.tasks.sequence import SequenceTask

SUGGESTED = 24
_KINDS = {EdgeKind.DATA: "data", EdgeKind.CONTROL: "control"}


def program(run: ProgramRun) -> dict[str, Any]:
    """The graph by levels, the source of each quantum, and the Q-model's knowledge."""
    graph, may_run = run.model.graph, run.may_run
    texts = {} if trouble(lambda: run.declared) else run.declared
    return {
        "program": run.config.program if is_built_in(run.config.program) else KEPT_PROGRAM,
        "runs": may_run,
        "command": None if may_run else f"{run.command('explore')} --program {KEPT_PROGRAM}",
        "levels": len(graph.by_level),
        "quanta": [
            {
                "name": name,
                "level": level,
                "emitter": quantum in graph.emitters,
                "source": texts[name].text if name in texts else None,
                "line": texts[name].line if name in texts else None,
                "cardinality": texts[name].cardinality if name in texts else None,
            }
            for quantum, (name, level) in enumerate(zip(graph.names, graph.levels, strict=True))
        ],
        "edges": [
            {
                "from": graph.names[edge.parent],
                "to": graph.names[edge.child],
                "kind": _KINDS.get(edge.kind, "both"),
            }
            for edge in graph.edges
        ],
        "accuracy": {} if trouble(lambda: run.accuracy) else run.accuracy,
        "knowledge": None if trouble(lambda: run.knowledge) else run.knowledge,
        "inputs": _inputs(run.task) if may_run else [],
    }


def _inputs(task: SequenceTask) -> list[str]:
    """Training inputs whose text is parsed back to the same input."""
    known = task.panel("training")
    shown = [(known[place], str(known[place])) for place in thinned(len(known), SUGGESTED)]
    return [text for source, text in shown if _reads(task, text, source)]


def _reads(task: SequenceTask, text: str, source: Any) -> bool:
    try:
        return bool(task.parse(text) == source)
    except QuantascopeError:
        return False


@torch.no_grad()
def execute(run: ProgramRun, asked: Request) -> dict[str, Any]:
    """Run an input on the program, with values and guards, and on the Q-model, with gates."""
    taught, text = run.taught, asked.text("input")
    task, source = taught.task, taught.task.parse(text)
    steps, labels = execute_input(taught.compiled, source), taught.compiled.trace([source]).labels
    written = [step.token for step in steps]
    unknown = [token for token in written if token not in task.token]
    prompt = task.prompt_tokens(source)
    if unknown or len(prompt) + len(written) - 1 > task.positions:
        raise InvalidConfig(f"the task cannot encode '{text}', so the Q-model cannot answer it")
    events = Events.of([prompt], [[task.token[token] for token in written]])
    done = run.model.run(events)
    probability, names = done.logits.softmax(-1), run.model.graph.names
    return {
        "input": text,
        "output": written,
        "qmodel_output": [task.vocabulary[token] for token in done.logits.argmax(-1).tolist()],
        "steps": [
            {
                "token": step.token,
                "qmodel_token": task.vocabulary[int(done.logits[event].argmax())],
                "emitter": step.emitter,
                "top": top(probability[event], task.vocabulary),
                "quanta": [
                    {
                        "name": name,
                        "active": bool(labels.active[event, quantum]),
                        "eligible": bool(labels.eligible[event, quantum]),
                        "value": step.values.get(name),
                        "gate": float(done.activity[quantum, event]),
                    }
                    for quantum, name in enumerate(names)
                ],
                "guards": [asdict(guard) for guard in step.guards],
            }
            for event, step in enumerate(steps)
        ],
    }
