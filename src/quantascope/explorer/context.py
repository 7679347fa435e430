"""Events in context: the prompt, the answer, and the gain of each token of the answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from quantascope.runs.errors import one_line
from quantascope.sources.source import Source
from quantascope.tasks.events import Events
from quantascope.tasks.sequence import BOS, SEP, SequenceTask
from quantascope.tasks.task import SymbolTask

LONGEST_TOKEN = 200
"""Largest number of characters of a token in a list."""
MOST_BEFORE, MOST_AFTER, MOST_OF_PROMPT = 40, 24, 64
"""Tokens of a long text that are shown around an event."""
CUT = "…"


class _Example(NamedTuple):
    """The text a user would type for an example (empty if there is none), with its tokens and events."""

    typed: str
    prompt: list[str]
    answer: list[str]
    first: int
    after: int


@dataclass(frozen=True, eq=False)
class Contexts:
    """The events of a panel: the example of each, and its place in the answer."""

    source: Source
    inputs: tuple[Any, ...]
    labels: tuple[str, ...]
    example: Int[np.ndarray, " events"]
    events: Events | None
    """The examples as tokens, for a model that reads and writes symbols."""
    _examples: dict[int, "_Example"] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Source, panel: str) -> "Contexts":
        """The events of a panel."""
        examples, labels = source.examples(panel), source.labels(panel)
        events = examples if isinstance(examples, Events) and isinstance(source.task, SymbolTask) else None
        example = np.arange(len(labels)) if events is None else events.example.numpy()
        return cls(source, source.inputs(panel), labels, example, events)

    def __len__(self) -> int:
        return len(self.labels)

    def show(
        self,
        events: Int[np.ndarray, " shown"],
        value: Float[np.ndarray, " events"],
        lit: Float[np.ndarray, " events"],
    ) -> list[dict[str, Any]]:
        """Some events as shown on the page; `lit` is the highlight strength of each token of an answer."""
        return [self._show(event, value, lit) for event in events.tolist()]

    def _show(self, event: int, value: np.ndarray, lit: np.ndarray) -> dict[str, Any]:
        shown = self._of(int(self.example[event]))
        start, end = max(shown.first, event - MOST_BEFORE), min(shown.after, event + MOST_AFTER)
        answer, marks = shown.answer[start - shown.first : end - shown.first], lit[start:end].tolist()
        if start > shown.first:
            answer, marks = [CUT, *answer], [0.0, *marks]
        return {
            "input": shown.typed,
            "prompt": shown.prompt,
            "answer": answer,
            "at": event - start + (start > shown.first),
            "lit": [round(min(max(mark, 0.0), 1.0), 3) for mark in marks],
            "value": float(value[event]),
        }

    def _of(self, example: int) -> "_Example":
        """An example with its events (cached)."""
        if example not in self._examples:
            first, after = np.searchsorted(self.example, [example, example + 1]).tolist()
            prompt = self._prompt(example, first)
            asked = "" if self.events is None else typed(self.source.sequence_task, self.inputs[example], prompt)
            kept = prompt if len(prompt) <= MOST_OF_PROMPT else [CUT, *prompt[-MOST_OF_PROMPT:]]
            answer = [_short(token) for token in self.labels[first:after]]
            self._examples[example] = _Example(asked, [_short(token) for token in kept], answer, first, after)
        return self._examples[example]

    def _prompt(self, example: int, event: int) -> list[str]:
        """The tokens before the answer, without tokens that begin and end every prompt."""
        if self.events is None:
            return [_plain(self.inputs[example])]
        words = self.source.sequence_task.vocabulary
        read = self.events.tokens[example, : int(self.events.position[event]) + 1].tolist()
        return _within([words[token] for token in read])


def typed(task: SymbolTask, asked: Any, prompt: Sequence[str]) -> str:
    """A text that a task parses to an input with this prompt; empty if no usual form works.

    For example, a pair of numbers may be typed as `12+345`, like its prompt.
    """
    for text in dict.fromkeys([str(asked), "".join(prompt), " ".join(prompt)]):
        if text and _is_read_as(task, text, asked):
            return text
    return ""


def prompts_of(task: SymbolTask, asked: Sequence[Any]) -> list[list[str]]:
    """The prompt of each input, without the tokens that begin and end all."""
    several = isinstance(task, SequenceTask)
    prompts = task.prompts(asked) if several else [task.prompt_tokens(one) for one in asked]
    return [_within([task.vocabulary[token] for token in tokens]) for tokens in prompts]


def _is_read_as(task: SymbolTask, text: str, asked: Any) -> bool:
    """Whether a text is parsed to this example; not checked for a user's task, where each prompt is slow."""
    try:
        if isinstance(task, SequenceTask):
            return bool((text if task.read is None else task.read(text)) == asked)
        return task.prompt_tokens(task.parse(text)) == task.prompt_tokens(asked)
    except Exception:  # a user's parser may raise anything for a text that it does not accept
        return False


def _within(tokens: list[str]) -> list[str]:
    return tokens[tokens[:1] == [BOS] : len(tokens) - (tokens[-1:] == [SEP])]


def _plain(asked: Any) -> str:
    return " ".join(map(str, asked)) if isinstance(asked, tuple) else one_line(str(asked))


def _short(token: str) -> str:
    return token if len(token) <= LONGEST_TOKEN else f"{token[: LONGEST_TOKEN - 1]}{CUT}"
