"""Python source code as a task: windows of bytes, each byte predicted from those before it."""

from collections.abc import Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from quantascope.quanta.properties import Properties
from quantascope.tasks.code import corpus
from quantascope.tasks.code.properties import PROBES, code_properties
from quantascope.tasks.text import TextExample, TextTask

TRAINING, HELD_OUT, TEST = 24_000, 40, 200
"""Windows of the panels."""
SHORT = 10
"""Windows of the panels that are measured: a window has 127 events."""


def byte_symbols() -> tuple[str, ...]:
    """A visible symbol for every byte, as byte-level tokenizers write them.

    >>> symbols = byte_symbols()
    >>> symbols[97], symbols[32], symbols[10], len(set(symbols))
    ('a', 'Ġ', 'Ċ', 256)
    """
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = iter(range(256, 512))
    return tuple(chr(byte) if byte in visible else chr(next(hidden)) for byte in range(256))


def code_task() -> TextTask:
    """The task on the library of this interpreter."""
    return _task(corpus.library())


@cache
def _task(folder: Path) -> TextTask:
    split = corpus.windows(folder)

    places: dict[TextExample, corpus.Place] = {}

    def panel(name: str, count: int) -> tuple[TextExample, ...]:
        chosen = {TextExample((one[0],), tuple(one[1:])): split[name][one] for one in islice(split[name], count)}
        places.update(chosen)
        return tuple(chosen)

    training = panel("training", TRAINING)

    def describe(examples: Sequence[TextExample]) -> Properties:
        texts = corpus.sources(folder)
        return code_properties(
            [(texts[places[one].file].decode(), places[one], 1 + len(one.answer)) for one in examples]
        )

    return TextTask(
        vocabulary=byte_symbols(),
        positions=corpus.LENGTH,
        end=byte_symbols()[ord("\n")],
        encode=lambda text: list(text.encode()),
        panels={
            "training": training,
            "training_10": training[:SHORT],
            "training_40": training[:HELD_OUT],
            "development": panel("development", HELD_OUT),
            "development_10": panel("development", SHORT),
            "test": panel("test", TEST),
            "test_10": panel("test", SHORT),
        },
        describe=describe,
        probes=lambda examples: describe(examples).chosen(PROBES),
        data=corpus.data,
    )
