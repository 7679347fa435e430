"""What can be said about an event of number naming: the words in which units are described (paper, section 5.2).

At each event some digits have been named and one word comes next. Columns hold what is true of the number, of the
three-digit chunk that is being named, of the word that comes next and of the one before it. LIBRARY says each
column in words.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from quantascope.quanta.properties import Properties
from quantascope.tasks.number_naming.oracle import TEENS, TENS, UNITS, number_name
from quantascope.tasks.number_naming.tokens import EOS

PLACES = ("units", "tens", "hundreds", "thousands", "ten-thousands", "hundred-thousands")

LIBRARY = {
    "emits": "emit {}",
    "form": "{} form",
    "family": "{} lexeme",
    "value read": "value read",
    "role": "{} role",
    "chunk": "{} chunk",
    "chunk present": "chunk present",
    "chunk empty": "chunk empty",
    "chunk has hundreds": "chunk has hundreds",
    "chunk has tail": "chunk has tail",
    "tail ten": "tail is ten",
    "tail teen": "tail is a teen",
    "tail has tens": "tail has tens",
    "tail has units": "tail has units",
    "previous": "after {}",
    "length": "{}-digit input",
    "index": "output {}",
    "value": "reads {}",
    "word": "writes {}",
    **{f"{place} digit": f"{place} digit {{}}" for place in PLACES},
}
"""Columns in words; of two properties that hold in the same events, the first one is used."""

ZEROS = {
    **{f"{place} zero": f"zero at {place}" for place in PLACES[:-1]},
    **{f"{place} passed": f"passes over a zero at {place}" for place in PLACES[:-1]},
    "any passed": "passes over any zero",
}
"""Columns of the audit of zeros: the number has one, and the event at which its name goes on past it."""

_FAMILIES = {
    **dict.fromkeys(UNITS, "unit"),
    TEENS[0]: "ten",
    **dict.fromkeys(TEENS[1:], "teen"),
    **dict.fromkeys(TENS, "tens"),
    "hundred": "multiplier",
    "thousand": "multiplier",
}


class Step(NamedTuple):
    """One word of a name: what it emits, its form, the digit it reads, and the places that it names or passes."""

    emits: str
    form: str | None = None
    value: int | None = None
    reads: tuple[int, ...] = ()
    passes: tuple[int, ...] = ()


def naming_properties(numbers: Iterable[int]) -> Properties:
    """The property table of the events of naming these numbers, in the order of `naming_events`.

    >>> table = naming_properties([42])
    >>> [name for name, (_, second, _) in zip(table.names, table.values) if second][:6]
    ['emit value', 'unit form', 'unit lexeme', 'value read', 'units role', 'low chunk']
    """
    return _table(numbers, LIBRARY)


def zero_properties(numbers: Iterable[int]) -> Properties:
    """The audit of zeros: its columns on the same events.

    >>> table = zero_properties([3002])
    >>> table.atom("zero at tens"), table.atom("passes over a zero at tens")
    (array([ True,  True,  True,  True]), array([False, False,  True, False]))
    """
    return _table(numbers, ZEROS)


def naming_steps(number: int) -> Iterator[tuple[int, Step]]:
    """Each word of a name with the chunk that it belongs to: 1 the high one, 0 the low one."""
    high, low = divmod(number, 1000)
    if high:
        yield from ((1, step) for step in _chunk_steps(high, 3, "thousand"))
    yield from ((0, step) for step in _chunk_steps(low, 0, EOS))


def _chunk_steps(chunk: int, base: int, closes: str) -> Iterator[Step]:
    """The words of three digits from place `base` up, and the word that closes them."""
    hundreds, tens, units = chunk // 100, chunk // 10 % 10, chunk % 10
    passed: tuple[int, ...] = ()
    if hundreds:
        yield Step("value", "hundred-digit", hundreds, (base + 2,))
        yield Step("hundred")
    else:
        passed += (base + 2,)
    if tens == 1:
        yield Step("value", "teen" if units else "ten", units or None, (base + 1, base), passed)
        passed = ()
    else:
        if tens:
            yield Step("value", "tens", tens, (base + 1,), passed)
            passed = ()
        else:
            passed += (base + 1,)
        if units:
            yield Step("value", "unit", units, (base,), passed)
            passed = ()
        else:
            passed += (base,)
    yield Step(closes, passes=passed)


def _table(numbers: Iterable[int], library: dict[str, str]) -> Properties:
    rows: list[dict[str, Any]] = []
    example: list[int] = []
    for place, number in enumerate(numbers):
        found = list(_event_columns(number))
        rows += found
        example += [place] * len(found)
    columns = {column: [row.get(column) for row in rows] for column in library}
    return Properties.of(columns, library, example)


def _event_columns(number: int) -> Iterator[dict[str, Any]]:
    words = (*number_name(number), EOS)
    digits = [int(digit) for digit in reversed(str(number))]
    whole: dict[str, Any] = {"length": len(digits)}
    for place, digit in zip(PLACES, digits, strict=False):
        whole |= {f"{place} digit": digit, f"{place} zero": digit == 0}
    for index, (word, (high, step)) in enumerate(zip(words, naming_steps(number), strict=True)):
        passes = [place for place in step.passes if place < len(digits)]
        yield {
            **whole,
            **_chunk_columns(number // 1000 if high else number % 1000),
            "chunk": "high" if high else "low",
            "emits": step.emits,
            "form": step.form,
            "family": _FAMILIES.get(word),
            "value read": step.value is not None,
            "value": step.value,
            "role": PLACES[step.reads[0]] if step.reads else None,
            "word": word,
            "previous": words[index - 1] if index else "start",
            "index": index,
            **{f"{PLACES[place]} passed": True for place in passes},
            "any passed": bool(passes),
        }


def _chunk_columns(chunk: int) -> dict[str, bool]:
    tens, units = chunk // 10 % 10, chunk % 10
    return {
        "chunk present": chunk > 0,
        "chunk empty": chunk == 0,
        "chunk has hundreds": chunk >= 100,
        "chunk has tail": chunk % 100 > 0,
        "tail ten": (tens, units) == (1, 0),
        "tail teen": tens == 1 and units > 0,
        "tail has tens": tens > 1,
        "tail has units": tens != 1 and units > 0,
    }
