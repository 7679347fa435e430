"""`Task`: the inputs and prediction events of a network, as discovery needs them.

A task lists its inputs by panel, turns inputs into events, and says what each event is. `SequenceTask` is one for
models that read and write symbols; `ExampleTask` is one for anything else that has a loss per example.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from quantascope.quanta.properties import Properties
from quantascope.runs.errors import InvalidConfig


@runtime_checkable
class Examples(Protocol):
    """Examples that can be sliced; each holds one or more events."""

    def __len__(self) -> int: ...

    def __getitem__(self, examples: slice, /) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Which panel serves which purpose.

    Held-out priority is measured on `held_out`; descriptions are chosen on `calibration` and scored on `test`;
    interventions are made on `causal`. A panel loses the inputs that a network was trained on, unless it is one of
    `whole`.

    >>> Roles.of({"training": None, "development": None, "evaluation": None}).test
    'evaluation'
    """

    held_out: str | None
    calibration: str | None
    test: str | None
    causal: str | None
    whole: tuple[str, ...] = ()

    @classmethod
    def of(cls, panels: Iterable[str], *, whole: tuple[str, ...] = ()) -> "Roles":
        """Roles by the panels' names; a role without a panel of its own takes the nearest that there is."""
        known = set(panels)

        def first(*names: str) -> str | None:
            return next((name for name in names if name in known), None)

        test = first("test", "evaluation", "held_out")
        return cls(
            held_out=first("priority", "held_out", "development", "evaluation", "test"),
            calibration=first("calibration", "development", "held_out"),
            test=test,
            causal=first("causal") or test,
            whole=whole,
        )


@runtime_checkable
class Task(Protocol):
    """The training data of a source, and the panels on which it is evaluated."""

    @property
    def panels(self) -> Mapping[str, Any]: ...

    @property
    def roles(self) -> Roles: ...

    def panel(self, name: str) -> Sequence[Any]:
        """The inputs of a panel."""
        ...

    def key(self, source: Any) -> Any:
        """The key of an input; inputs with equal keys are the same."""
        ...

    def events(self, inputs: Iterable[Any]) -> Examples:
        """The prediction events of these inputs, in their order."""
        ...

    def labels(self, inputs: Iterable[Any]) -> tuple[str, ...]:
        """The target of every event of these inputs, as a word."""
        ...

    def properties(self, inputs: Sequence[Any]) -> Properties | None:
        """The property table of these inputs, by which units are described; None if the task has none."""
        ...


@runtime_checkable
class SymbolTask(Task, Protocol):
    """A task of a model that reads and writes symbols, so that it can be traced."""

    @property
    def vocabulary(self) -> tuple[str, ...]: ...

    @property
    def positions(self) -> int: ...

    @property
    def end(self) -> str: ...

    @property
    def token(self) -> Mapping[str, int]: ...

    @property
    def padding(self) -> int | None: ...

    @property
    def reported(self) -> tuple[str, ...]: ...

    @property
    def pool(self) -> Callable[[int, int], Sequence[Any]] | None: ...

    @property
    def probes(self) -> Callable[[Sequence[Any]], Properties] | None: ...

    def parse(self, text: str) -> Any:
        """Parse a user's text to an input."""
        ...

    def prompt_tokens(self, source: Any) -> list[int]:
        """The tokens that ask about an input."""
        ...

    def prompts(self, inputs: Sequence[Any]) -> list[list[int]]:
        """The tokens that ask about each input."""
        ...

    def right_answer(self, source: Any) -> tuple[str, ...] | None:
        """The symbols of the right output, if it is known."""
        ...


@dataclass(frozen=True, eq=False)
class ExampleTask:
    """Examples with a class each, such as the images of a classifier; an input is the index of an example.

    `columns` are properties of the examples by name, one value per example of each panel.

    >>> task = ExampleTask(
    ...     examples={"training": np.eye(4), "test": np.eye(2, 4)},
    ...     classes={"training": ["a", "b", "a", "b"], "test": ["a", "b"]},
    ... )
    >>> task.labels(task.panel("test")), len(task.events(task.panel("training")))
    (('a', 'b'), 4)
    """

    examples: Mapping[str, Any]
    classes: Mapping[str, Any]
    """By panel one class per example: a sequence, an array or a tensor."""
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "training" not in self.examples:
            raise InvalidConfig(f"the panels are {', '.join(self.examples) or 'none'}; one must be named training")
        for panel, examples in self.examples.items():
            named = len(self.classes.get(panel, ()))
            if named != len(examples):
                raise InvalidConfig(
                    f"panel '{panel}' has {len(examples)} examples and {named} classes; give one class each"
                )

    @property
    def panels(self) -> Mapping[str, Any]:
        """The panels by name."""
        return self.examples

    @property
    def roles(self) -> Roles:
        """Roles by the panels' names."""
        return Roles.of(self.examples)

    def panel(self, name: str) -> tuple[tuple[str, int], ...]:
        """Panel and index of every example of a panel."""
        if name not in self.examples:
            raise InvalidConfig(f"there is no panel '{name}'; known panels are {', '.join(self.examples)}")
        return tuple((name, index) for index in range(len(self.examples[name])))

    def key(self, source: tuple[str, int]) -> tuple[str, int]:
        """The panel and index."""
        return source

    def events(self, inputs: Iterable[tuple[str, int]]) -> Any:
        """The examples themselves; all of them are of one panel."""
        panel, index = _one_panel(inputs)
        examples = self.examples[panel]
        return examples if index == list(range(len(examples))) else examples[index]

    def labels(self, inputs: Iterable[tuple[str, int]]) -> tuple[str, ...]:
        """The class of each example."""
        panel, index = _one_panel(inputs)
        return tuple(str(_plain(self.classes[panel][place])) for place in index)

    def properties(self, inputs: Sequence[tuple[str, int]]) -> Properties | None:
        """The property table of the examples: their class and the columns."""
        panel, index = _one_panel(inputs)
        columns = {"class": self.classes, **self.columns}
        chosen = {name: [_plain(values[panel][place]) for place in index] for name, values in columns.items()}
        truths = {name for name, values in chosen.items() if {*values} <= {True, False, None}}
        return Properties.of(
            chosen,
            {name: name if name in truths else f"{name} is {{}}" for name in chosen},
            example=list(range(len(index))),
        )


def _one_panel(inputs: Iterable[tuple[str, int]]) -> tuple[str, list[int]]:
    inputs = list(inputs)
    panels = {panel for panel, _ in inputs}
    if len(panels) != 1:
        raise InvalidConfig(f"examples of {len(panels)} panels are asked for at once; give those of one")
    return panels.pop(), [index for _, index in inputs]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) or hasattr(value, "item") else value
