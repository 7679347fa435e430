"""`SequenceTask`: symbols in, symbols out, and the lists of inputs that are trained on and asked.

An example reads `BOS prompt SEP answer`; the answer ends with its own end token.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from quantascope.quanta.properties import Properties
from quantascope.runs.errors import InvalidConfig, QuantascopeError
from quantascope.tasks.events import Events
from quantascope.tasks.task import Roles

PAD, BOS, SEP = "PAD", "BOS", "SEP"


@dataclass(frozen=True, eq=False)
class SequenceTask:
    """What a sequence model is asked.

    `prompt` gives the symbols of an input, `answer` those of its output with the end token. A vocabulary begins
    with PAD and holds BOS and SEP. Panels are lists of inputs by name; `training` is one of them, and settings
    may be chosen on `development` alone.

    >>> task = SequenceTask(
    ...     vocabulary=("PAD", "BOS", "SEP", "EOS", "a", "b"), positions=6, prompt=tuple,
    ...     answer=lambda text: (*reversed(text), "EOS"),
    ...     panels={"training": lambda: ("ab",), "evaluation": lambda: ("ba",)},
    ... )
    >>> task.events(["ab"]).target.tolist()
    [5, 4, 3]
    """

    vocabulary: tuple[str, ...]
    positions: int
    prompt: Callable[[Any], Sequence[str]]
    answer: Callable[[Any], Sequence[str]]
    panels: Mapping[str, Callable[[], Iterable[Any]]] = field(repr=False)
    reported: tuple[str, ...] = ("evaluation",)
    """The panels on which accuracy is told."""
    end: str = "EOS"
    read: Callable[[str], Any] | None = None
    """The input that a person types; without it, inputs are texts."""
    describe: Callable[[Sequence[Any]], Properties] | None = None
    """The property table of inputs; without it, events are described by their tokens."""
    probes: Callable[[Sequence[Any]], Properties] | None = None
    """Properties of which it is asked whether any single unit detects them."""
    pool: Callable[[int, int], Sequence[Any]] | None = None
    """So many inputs outside every panel, by a seed: a Q-model may be fitted on them without answers."""
    whole: tuple[str, ...] = ()
    """Panels that are asked whole, although they share inputs with the training panel."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", tuple(self.vocabulary))
        if self.vocabulary[:1] != (PAD,) or not {BOS, SEP} <= set(self.vocabulary):
            raise InvalidConfig("a vocabulary begins with PAD and holds BOS and SEP; add them")
        if len(set(self.vocabulary)) < len(self.vocabulary):
            raise InvalidConfig("the vocabulary holds a symbol twice; list each once")
        if "training" not in self.panels:
            raise InvalidConfig(f"the panels are {', '.join(self.panels) or 'none'}; one must be named training")
        for name, inputs in self.panels.items():
            if not callable(inputs):
                raise InvalidConfig(f"the panel '{name}' is no function; write lambda: (…) around its inputs")
        for name in self.reported:
            if name not in self.panels:
                raise InvalidConfig(f"there is no panel '{name}' to report; there are {', '.join(self.panels)}")

    @property
    def padding(self) -> int | None:
        """The token that ends an output because no example holds it."""
        return self.token[PAD]

    @property
    def roles(self) -> Roles:
        """Which panel serves which purpose, by their names."""
        return Roles.of(self.panels, whole=self.whole)

    @cached_property
    def token(self) -> dict[str, int]:
        """The number of each symbol."""
        return {symbol: token for token, symbol in enumerate(self.vocabulary)}

    def panel(self, name: str) -> tuple[Any, ...]:
        """The inputs of a panel."""
        if name not in self.panels:
            raise InvalidConfig(f"there is no panel '{name}'; known panels are {', '.join(self.panels)}")
        inputs = _told(f"panel '{name}'", lambda: tuple(self.panels[name]()))
        if not inputs:
            raise InvalidConfig(f"the panel '{name}' is empty; give it at least one input")
        return inputs

    def in_both(self, panel: str, other: str) -> int:
        """How many inputs of a panel are also in another."""
        known = {tuple(self.prompt(source)) for source in self.panel(other)}
        return sum(tuple(self.prompt(source)) in known for source in self.panel(panel))

    def key(self, source: Any) -> tuple[str, ...]:
        """An input is known by its prompt."""
        return tuple(self.prompt(source))

    def parse(self, text: str) -> Any:
        """The input that a person types."""
        source = text
        if self.read is not None:
            try:
                source = self.read(text)
            except QuantascopeError:
                raise
            except Exception as error:
                raise InvalidConfig(f"'{text}' is no input here ({_short(error)}); give another") from error
        self.prompt_tokens(source)
        return source

    def right_answer(self, source: Any) -> tuple[str, ...] | None:
        """The symbols of the right output, with the end."""
        return tuple(self.answer(source))

    def labels(self, inputs: Iterable[Any]) -> tuple[str, ...]:
        """The symbol that is to be predicted at each event."""
        return tuple(self.vocabulary[token] for token in self.events(inputs).target.tolist())

    def properties(self, inputs: Sequence[Any]) -> Properties | None:
        """The task's own property table, if it has one."""
        return None if self.describe is None else self.describe(inputs)

    def prompt_tokens(self, source: Any) -> list[int]:
        """The tokens that ask about an input."""
        prompt = _told(f"`prompt` of input {source!r}", lambda: tuple(self.prompt(source)))
        return self._tokens(source, (BOS, *prompt, SEP))

    def events(self, inputs: Iterable[Any]) -> Events:
        """The prediction events of these inputs, in their order."""
        inputs = list(inputs)
        events = Events.of(
            [self.prompt_tokens(source) for source in inputs],
            [self._answer_tokens(source) for source in inputs],
        )
        length = events.tokens.shape[1]
        if length > self.positions:
            raise InvalidConfig(f"an example takes {length} positions of {self.positions}; raise `positions`")
        return events

    def _answer_tokens(self, source: Any) -> list[int]:
        answer = _told(f"`answer` of input {source!r}", lambda: tuple(self.answer(source)))
        return self._tokens(source, answer)

    def _tokens(self, source: Any, symbols: Sequence[str]) -> list[int]:
        if PAD in symbols:
            raise InvalidConfig(
                f"input {source!r} uses '{PAD}', which fills rows beyond their end; use another symbol"
            )
        unknown = [symbol for symbol in symbols if symbol not in self.token]
        if unknown:
            raise InvalidConfig(f"input {source!r} needs '{unknown[0]}', which is not in the vocabulary; add it")
        return [self.token[symbol] for symbol in symbols]


def _told(what: str, compute: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """What a part of a task returns; what it raises is told with its name."""
    try:
        return compute()
    except QuantascopeError:
        raise
    except Exception as error:
        raise InvalidConfig(f"{what} raises {_short(error)}; mend the task") from error


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
