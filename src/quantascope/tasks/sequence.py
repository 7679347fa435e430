"""`SequenceTask`: symbols in, symbols out, with panels of inputs for training and evaluation.

An example reads `BOS prompt SEP answer`; the answer ends with its own end token.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from quantascope.quanta.properties import Properties
from quantascope.runs.errors import InvalidConfig, QuantascopeError, described, one_line
from quantascope.runs.isolation import Ended, Progress, run_isolated, time_limit
from quantascope.tasks.packaged import PackagedData
from quantascope.tasks.task import Roles

if TYPE_CHECKING:
    import quantascope.tasks.events

PAD, BOS, SEP = "PAD", "BOS", "SEP"
PANEL_LIMIT = 30.0
"""Time limit for listing a panel in seconds, unless it is set."""
MOST_INPUTS = 10_000_000
"""Largest number of inputs of a panel; this also stops endless iterables."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class SequenceTask:
    """A task of a sequence model.

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
    """The panels on which accuracy is reported."""
    end: str = "EOS"
    read: Callable[[str], Any] | None = None
    """Parses a user's text to an input; without it, inputs are texts."""
    describe: Callable[[Sequence[Any]], Properties] | None = None
    """The property table of inputs; without it, events are described by their tokens."""
    probes: Callable[[Sequence[Any]], Properties] | None = None
    """Properties for which the best detector is reported."""
    pool: Callable[[int, int], Sequence[Any]] | None = None
    """Draws inputs outside every panel by number and seed; a Q-model may be fitted on them without answers."""
    data: Callable[[], PackagedData] | None = None
    """The packaged data of the panels, if any; a run records its version."""
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Default settings for training a source on this task."""
    whole: tuple[str, ...] = ()
    """Panels that are evaluated in full, although they share inputs with the training panel."""
    exceptions: bool = False
    """Whether some answers are exceptions, so that a program of this task may differ from them."""

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
                raise InvalidConfig(f"the panel '{name}' is not a function; write lambda: (…) around its inputs")
        for name in self.reported:
            if name not in self.panels:
                raise InvalidConfig(f"there is no panel '{name}' to report; there are {', '.join(self.panels)}")

    @property
    def padding(self) -> int | None:
        """A token that occurs in no example and so can serve as the end of an output."""
        return self.token[PAD]

    @property
    def roles(self) -> Roles:
        """The panel for each purpose, by name."""
        return Roles.of(self.panels, whole=self.whole)

    @cached_property
    def token(self) -> dict[str, int]:
        """The number of each symbol."""
        return {symbol: token for token, symbol in enumerate(self.vocabulary)}

    @cached_property
    def _listed(self) -> dict[str, tuple[Any, ...]]:
        return {}

    def panel(self, name: str) -> tuple[Any, ...]:
        """The inputs of a panel, listed once."""
        if name not in self.panels:
            raise InvalidConfig(f"there is no panel '{name}'; known panels are {', '.join(self.panels)}")
        if name not in self._listed:
            self._listed[name] = self._list(name)
        return self._listed[name]

    def _list(self, name: str) -> tuple[Any, ...]:
        if self._built_in:
            return tuple(self.panels[name]())
        inputs = _run_part(lambda _: f"panel '{name}'", [self.panels[name]], _inputs, PANEL_LIMIT)[0]
        if len(inputs) > MOST_INPUTS:
            raise InvalidConfig(f"the panel '{name}' has more than {MOST_INPUTS:,} inputs; give it fewer")
        if not inputs:
            raise InvalidConfig(f"the panel '{name}' is empty; give it at least one input")
        return inputs

    def in_both(self, panel: str, other: str) -> int:
        """Number of inputs of a panel that are also in another."""
        known = set(self._of_all("prompt", self.panel(other)))
        return sum(prompt in known for prompt in self._of_all("prompt", self.panel(panel)))

    def key(self, source: Any) -> tuple[str, ...]:
        """The key of an input: its prompt."""
        return tuple(self.prompt(source))

    def parse(self, text: str) -> Any:
        """Parse a user's text to an input."""
        source = text
        if self.read is not None:
            try:
                source = self.read(text)
            except QuantascopeError:
                raise
            except Exception as error:
                raise InvalidConfig(f"'{text}' is not a valid input ({described(error)}); give another") from error
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
        return self.prompts([source])[0]

    def prompts(self, inputs: Sequence[Any]) -> list[list[int]]:
        """The tokens that ask about each input."""
        prompts = zip(inputs, self._of_all("prompt", inputs), strict=True)
        return [self._tokens(source, (BOS, *prompt, SEP)) for source, prompt in prompts]

    def possible_prompts(self, inputs: Sequence[Any]) -> list[list[int] | None]:
        """The tokens that ask about each input; None for one that the task cannot ask about."""
        try:
            prompts = self._of_all("prompt", inputs)
        except InvalidConfig:
            if len(inputs) == 1:
                return [None]
            return [self.possible_prompts([source])[0] for source in inputs]
        found: list[list[int] | None] = []
        for source, prompt in zip(inputs, prompts, strict=True):
            try:
                found.append(self._tokens(source, (BOS, *prompt, SEP)))
            except InvalidConfig:
                found.append(None)
        return found

    def answers(self, inputs: Sequence[Any]) -> list[tuple[str, ...]]:
        """The answer to each input."""
        return self._of_all("answer", inputs)

    def events(self, inputs: Iterable[Any]) -> "quantascope.tasks.events.Events":
        """The prediction events of these inputs, in their order."""
        inputs = list(inputs)
        return self.events_of(inputs, self.answers(inputs))

    def events_of(
        self, inputs: Sequence[Any], answers: Iterable[Sequence[str]]
    ) -> "quantascope.tasks.events.Events":
        """The prediction events of these inputs with these answers, which may be those of a program."""
        from quantascope.tasks.events import Events  # imports torch, which descriptions of a task do not need

        pairs = zip(inputs, answers, strict=True)
        events = Events.of(self.prompts(inputs), [self._tokens(source, answer) for source, answer in pairs])
        length = events.tokens.shape[1]
        if length > self.positions:
            raise InvalidConfig(f"an example takes {length} positions of {self.positions}; raise `positions`")
        return events

    def _of_all(self, part: str, inputs: Sequence[Any]) -> list[tuple[str, ...]]:
        function = getattr(self, part)
        if self._built_in:
            return [tuple(function(source)) for source in inputs]
        return _run_part(
            lambda number: f"`{part}` of input {one_line(repr(inputs[number]))}",
            inputs,
            lambda source: tuple(function(source)),
        )

    @property
    def _built_in(self) -> bool:
        """Whether the task ships with quantascope, so that its code need not be isolated."""
        return (getattr(self.panels["training"], "__module__", None) or "").startswith("quantascope.")

    def _tokens(self, source: Any, symbols: Sequence[str]) -> list[int]:
        if PAD in symbols:
            raise InvalidConfig(
                f"input {source!r} uses '{PAD}', which fills rows beyond their end; use another symbol"
            )
        try:
            return [self.token[symbol] for symbol in symbols]
        except (KeyError, TypeError):
            unknown = next(one for one in symbols if not isinstance(one, str) or one not in self.token)
            raise InvalidConfig(
                f"input {source!r} needs '{unknown}', which is not in the vocabulary; leave it out, or add it"
            ) from None


def _inputs(panel: Callable[[], Iterable[Any]]) -> tuple[Any, ...]:
    return tuple(islice(panel(), MOST_INPUTS + 1))


def _run_part(
    what: Callable[[int], str], given: Sequence[Any], function: Callable[[Any], T], limit: float = 5.0
) -> list[T]:
    """Call a function of a task for each input in a separate process; `what` gives the start of error messages."""

    def work(progress: Progress) -> list[T]:
        found = []
        for number, one in enumerate(given):
            progress.at(number)
            try:
                found.append(function(one))
            except QuantascopeError:
                raise
            except BaseException as error:
                raise InvalidConfig(f"{what(number)} raises {described(error)}; fix the task") from error
        return found

    try:
        return run_isolated(work, seconds=time_limit(limit))
    except Ended as end:
        raise InvalidConfig(f"{what(end.item)} {end.what}{end.place}; fix the task") from None
