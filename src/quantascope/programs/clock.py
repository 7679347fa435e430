"""Clock times in words: 07:35 is twenty five to eight, 19:41 nineteen minutes to eight, 00:00 twelve o'clock.

Up to the half hour, minutes are counted past the hour, after it to the next one. "Minutes" is said unless they are
a multiple of five.
"""

import random
from enum import Enum
from functools import cache

from quantascope.program import Registry, State, when
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.sequence import SequenceTask

END = "EOS"
ONES = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
LEXICON = (*ONES, "twenty", "quarter", "half", "minute", "minutes", "past", "to", "o'clock", END)

Side = Enum("Side", "EXACT PAST TO")
Phrase = Enum("Phrase", "FULL QUARTER HALF FIVES ONE MINUTES")
Slot = Enum("Slot", "TWENTY COUNT UNIT SIDE HOUR CLOSE END")
Time = tuple[int, int]

registry = Registry()


@registry.quantum("MINUTE_TENS", output_cardinality=6)
def minute_tens(minute: int) -> int:
    """The tens of the minutes."""
    return minute // 10


@registry.quantum("MINUTE_UNITS", output_cardinality=10)
def minute_units(minute: int) -> int:
    """The units of the minutes."""
    return minute % 10


@registry.quantum("SIDE", output_cardinality=3)
def side_of(tens: int, units: int) -> Side:
    """Whether minutes are counted, and to which side of the hour."""
    minute = 10 * tens + units
    return Side.EXACT if minute == 0 else Side.PAST if minute <= 30 else Side.TO


@registry.quantum("COUNT_TENS", output_cardinality=4)
def count_tens(tens: int, units: int, side: Side) -> int:
    """The tens of the minutes that are counted."""
    minute = 10 * tens + units
    return (60 - minute if side is Side.TO else minute) // 10


@registry.quantum("COUNT_UNITS", output_cardinality=10)
def count_units(units: int, side: Side) -> int:
    """The units of the minutes that are counted."""
    return (10 - units) % 10 if side is Side.TO else units


@registry.quantum("PHRASE", output_cardinality=6)
def phrase_of(tens: int, units: int) -> Phrase:
    """How so many minutes are said."""
    count = 10 * tens + units
    named = {0: Phrase.FULL, 1: Phrase.ONE, 15: Phrase.QUARTER, 30: Phrase.HALF}
    return named.get(count, Phrase.MINUTES if count % 5 else Phrase.FIVES)


@registry.quantum("COUNT_WORDS", output_cardinality=3)
def count_words(phrase: Phrase, tens: int, units: int) -> int:
    """How many words the minutes take."""
    if phrase is Phrase.FULL:
        return 0
    return 2 if phrase in (Phrase.FIVES, Phrase.MINUTES) and tens == 2 and units else 1


@registry.quantum("SLOT", output_cardinality=7)
def slot_of(position: int, phrase: Phrase, words: int) -> Slot:
    """What is said next."""
    said = [Slot.TWENTY, Slot.UNIT] if words == 2 else [Slot.COUNT] * words
    said += [Slot.CLOSE] * (phrase in (Phrase.ONE, Phrase.MINUTES))
    said += [Slot.HOUR, Slot.CLOSE] if phrase is Phrase.FULL else [Slot.SIDE, Slot.HOUR]
    return said[position] if position < len(said) else Slot.END


@registry.quantum("HOUR_ON_FACE", output_cardinality=12)
def hour_on_face(hour: int) -> int:
    """The hour on the face of a clock; 0 is at the top."""
    return hour % 12


@registry.quantum("HOUR_SAID", output_cardinality=12)
def hour_said(hour: int, side: Side) -> int:
    """The hour from which minutes are counted."""
    return (hour + (side is Side.TO)) % 12


@registry.quantum("EMIT_TWENTY", output_cardinality=1)
def emit_twenty(slot: Slot) -> str:
    """The first of two words for the minutes."""
    return "twenty"


@registry.quantum("EMIT_UNIT", output_cardinality=9)
def emit_unit(units: int) -> str:
    """The second of two words for the minutes."""
    return ONES[units - 1]


@registry.quantum("EMIT_COUNT", output_cardinality=21)
def emit_count(phrase: Phrase, tens: int, units: int) -> str:
    """The one word for the minutes."""
    count = 10 * tens + units
    return {15: "quarter", 20: "twenty", 30: "half"}.get(count) or ONES[count - 1]


@registry.quantum("EMIT_CLOSE", output_cardinality=3)
def emit_close(phrase: Phrase) -> str:
    """What the number before it counts."""
    return {Phrase.FULL: "o'clock", Phrase.ONE: "minute"}.get(phrase, "minutes")


@registry.quantum("EMIT_SIDE", output_cardinality=2)
def emit_side(side: Side) -> str:
    """past or to."""
    return side.name.lower()


@registry.quantum("EMIT_HOUR", output_cardinality=12)
def emit_hour(hour: int) -> str:
    """The hour."""
    return ONES[hour - 1] if hour else ONES[11]


@registry.quantum("EMIT_END", output_cardinality=1)
def emit_end(slot: Slot) -> str:
    """Nothing is left to say."""
    return END


EVERY = tuple((hour, minute) for hour in range(24) for minute in range(60))


@registry.entry(audit=EVERY[::7], vocabulary=LEXICON, end=END)
def predict(state: State) -> str | None:
    """The next word of a time."""
    hour, minute = state.source
    tens, units = minute_tens(minute), minute_units(minute)
    side = side_of(tens, units)
    counted, left = count_tens(tens, units, side), count_units(units, side)
    phrase = phrase_of(counted, left)
    slot = slot_of(state.position, phrase, count_words(phrase, counted, left))
    with when(slot, Slot.TWENTY) as twenty:
        if twenty:
            return emit_twenty(slot)
    with when(slot, Slot.UNIT) as unit:
        if unit:
            return emit_unit(left)
    with when(slot, Slot.COUNT) as count:
        if count:
            return emit_count(phrase, counted, left)
    with when(slot, Slot.CLOSE) as close:
        if close:
            return emit_close(phrase)
    with when(slot, Slot.SIDE) as which:
        if which:
            return emit_side(side)
    with when(slot, Slot.HOUR) as said:
        if said:
            return emit_hour(hour_said(hour_on_face(hour), side))
    with when(slot, Slot.END) as finished:
        if finished:
            return emit_end(slot)
    return None


TRAINING, DEVELOPMENT = 300, 240


@cache
def drawn() -> tuple[Time, ...]:
    """All times in random order."""
    return tuple(random.Random(0).sample(EVERY, len(EVERY)))


def read_time(text: str) -> Time:
    """The time that a person types, as in 07:35."""
    hour, colon, minute = text.strip().partition(":")
    if not colon or not (hour.isdecimal() and minute.isdecimal() and int(hour) < 24 and int(minute) < 60):
        raise InvalidConfig(f"'{text}' is no time; give hours and minutes, as in 07:35")
    return int(hour), int(minute)


task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", END, ":", *"0123456789", *(word for word in LEXICON if word != END)),
    positions=14,
    prompt=lambda time: f"{time[0]:02}:{time[1]:02}",
    answer=predict.write,
    panels={
        "training": lambda: drawn()[:TRAINING],
        **{f"training_{count}": lambda count=count: drawn()[:count] for count in (100, 200, 300)},
        "development": lambda: drawn()[TRAINING : TRAINING + DEVELOPMENT],
        "evaluation": lambda: drawn()[TRAINING + DEVELOPMENT :],
    },
    end=END,
    read=read_time,
)
