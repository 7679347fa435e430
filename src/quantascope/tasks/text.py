"""`TextTask`: text that a tokenizer cuts, in windows or as pairs of a prompt and an answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from quantascope.quanta.properties import Properties
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events
from quantascope.tasks.packaged import PackagedData
from quantascope.tasks.task import Roles

HELD_OUT_EVERY = 10
"""Without panels of the user's, every n-th example is held out."""
_HELD_OUT = ("held_out", "calibration", "test")


class TextExample(NamedTuple):
    """Tokens that are read, and tokens that are predicted."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]


def windows(tokens: Sequence[int], length: int) -> list[TextExample]:
    """A text in windows of `length` tokens; every token of a window but the first is predicted.

    >>> windows([5, 6, 7, 8, 9], 2)
    [TextExample(prompt=(5,), answer=(6,)), TextExample(prompt=(7,), answer=(8,))]
    """
    starts = range(0, len(tokens) - length + 1, length)
    if length < 2 or not starts:
        raise InvalidConfig(
            f"a text of {len(tokens)} tokens has no window of {length}; give a longer text, or a --length from 2 "
            f"to {len(tokens)}"
        )
    return [TextExample((tokens[at],), tuple(tokens[at + 1 : at + length])) for at in starts]


def split(examples: Sequence[TextExample]) -> dict[str, tuple[TextExample, ...]]:
    """Panels by a fixed rule: every tenth example is held out, in turn for held_out, calibration and test.

    >>> panels = split([TextExample((place,), (place,)) for place in range(60)])
    >>> {name: len(panel) for name, panel in panels.items()}
    {'training': 54, 'held_out': 2, 'calibration': 2, 'test': 2}
    """
    held_out = [one for place, one in enumerate(examples) if place % HELD_OUT_EVERY == HELD_OUT_EVERY - 1]
    if len(held_out) < len(_HELD_OUT):
        raise InvalidConfig(
            f"{len(examples)} examples are too few to hold some out; give at least "
            f"{len(_HELD_OUT) * HELD_OUT_EVERY}, or a column `panel` that says which are for what"
        )
    trained = tuple(one for place, one in enumerate(examples) if place % HELD_OUT_EVERY != HELD_OUT_EVERY - 1)
    return {"training": trained} | {
        name: tuple(held_out[turn :: len(_HELD_OUT)]) for turn, name in enumerate(_HELD_OUT)
    }


@dataclass(frozen=True, eq=False)
class TextTask:
    """The task of a language model; an input is a `TextExample`."""

    vocabulary: tuple[str, ...]
    positions: int
    end: str
    encode: Callable[[str], list[int]] = field(repr=False)
    panels: Mapping[str, tuple[TextExample, ...]] = field(repr=False)
    padding: int | None = None
    unknown: int | None = None
    """The token that stands for whatever the tokenizer does not know."""
    pool: Callable[[int, int], Sequence[TextExample]] | None = None
    probes: Callable[[Sequence[TextExample]], Properties] | None = None
    describe: Callable[[Sequence[TextExample]], Properties] | None = None
    """The property table of examples; without it, text is described by its tokens."""
    data: Callable[[], PackagedData] | None = None
    """The data that the panels come from, if they are on every machine; a run records which."""

    @property
    def reported(self) -> tuple[str, ...]:
        """The panels on which accuracy is reported."""
        return ("test",) if "test" in self.panels else ()

    @property
    def roles(self) -> Roles:
        """Which panel serves which purpose, by their names."""
        return Roles.of(self.panels)

    @cached_property
    def token(self) -> dict[str, int]:
        """The number of each symbol."""
        return {symbol: token for token, symbol in enumerate(self.vocabulary)}

    def panel(self, name: str) -> tuple[TextExample, ...]:
        """The examples of a panel."""
        if name not in self.panels:
            raise InvalidConfig(f"there is no panel '{name}'; known panels are {', '.join(self.panels)}")
        return self.panels[name]

    def key(self, source: TextExample) -> TextExample:
        """Examples are the same if all their tokens are."""
        return source

    def prompt_tokens(self, source: TextExample) -> list[int]:
        """The tokens that are read."""
        return list(source.prompt)

    def prompts(self, inputs: Sequence[TextExample]) -> list[list[int]]:
        """The tokens that are read of each example."""
        return [list(one.prompt) for one in inputs]

    def events(self, inputs: Iterable[TextExample]) -> Events:
        """The prediction events of these examples, in their order."""
        inputs = list(inputs)
        return Events.of([one.prompt for one in inputs], [one.answer for one in inputs])

    def labels(self, inputs: Iterable[TextExample]) -> tuple[str, ...]:
        """The token that is to be predicted at each event."""
        return tuple(self.vocabulary[token] for one in inputs for token in one.answer)

    def properties(self, inputs: Sequence[TextExample]) -> Properties | None:
        """The table of these examples, if there is one."""
        return None if self.describe is None else self.describe(inputs)

    def parse(self, text: str) -> TextExample:
        """Parse a user's text to an example, with the answer of the data if its prompt is in it."""
        prompt = tuple(self.encode(text))
        if not prompt:
            raise InvalidConfig("an empty text asks nothing; type at least one token")
        if self.unknown is not None and self.unknown in prompt:
            raise InvalidConfig(f"the tokenizer does not know all of '{text}'; leave out what it does not know")
        if len(prompt) >= self.positions:
            raise InvalidConfig(
                f"the text takes {len(prompt)} of the model's {self.positions} positions; give a shorter one"
            )
        return TextExample(prompt, self._answers.get(prompt, ()))

    def right_answer(self, source: TextExample) -> tuple[str, ...] | None:
        """The right continuation, if the data have it."""
        return tuple(self.vocabulary[token] for token in source.answer) or None

    @cached_property
    def _answers(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        pairs = {one.prompt: one.answer for panel in self.panels.values() for one in panel}
        return {prompt: answer for prompt, answer in pairs.items() if len(prompt) > 1}
