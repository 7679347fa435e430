"""Number naming in English, word by word: the paper's ground-truth program ("Ground-Truth Number-Naming
Q-Program").

42017 is written "forty two thousand seventeen". The high chunk (42) and the low chunk (017) are named alike: a
hundreds digit and "hundred", then a tail that is a unit, ten, a teen, or tens with perhaps a unit.
"""

import random
from enum import Enum
from typing import NamedTuple

from quantascope.program import Registry, State, when
from quantascope.tasks.number_naming import LARGEST, PANELS
from quantascope.tasks.number_naming.oracle import TEENS, TENS, UNITS
from quantascope.tasks.number_naming.task import task as task
from quantascope.tasks.number_naming.tokens import EOS

LEXICON = (*UNITS, *TEENS, *TENS, "hundred", "thousand", EOS)

Group = Enum("Group", "HIGH LOW")
TailKind = Enum("TailKind", "EMPTY UNIT TEN TEEN TENS TENS_UNIT")
BoundaryAction = Enum("BoundaryAction", "CONTENT THOUSAND EOS")
ContentSlot = Enum("ContentSlot", "HUNDRED_DIGIT HUNDRED_WORD TAIL_FIRST TAIL_SECOND")
LexicalForm = Enum("LexicalForm", "UNIT TEN TEEN TENS")


class Chunk(NamedTuple):
    """Three digits, and which three."""

    group: Group
    value: int


def tail_kind(tens: int, unit: int) -> TailKind:
    """How the last two digits are named."""
    match tens, unit:
        case 0, 0:
            return TailKind.EMPTY
        case 0, _:
            return TailKind.UNIT
        case 1, 0:
            return TailKind.TEN
        case 1, _:
            return TailKind.TEEN
        case _, 0:
            return TailKind.TENS
    return TailKind.TENS_UNIT


def chunk_length(hundreds: int, kind: TailKind) -> int:
    """How many words name a chunk."""
    tail = {TailKind.EMPTY: 0, TailKind.TENS_UNIT: 2}.get(kind, 1)
    return 2 * (hundreds > 0) + tail


registry = Registry()


@registry.quantum("HIGH_CONTENT_LENGTH", output_cardinality=5)
def high_content_length(number: int) -> int:
    """How many words name the thousands."""
    high = number // 1000
    return chunk_length(high // 100, tail_kind(high // 10 % 10, high % 10))


@registry.quantum("CONTROL_GROUP", output_cardinality=2)
def control_group(position: int, high_length: int) -> Group:
    """Which chunk is being named; "thousand" belongs to the high one."""
    return Group.HIGH if high_length and position <= high_length else Group.LOW


@registry.quantum("SELECT_CHUNK", output_cardinality=2000)
def select_chunk(number: int, group: Group) -> Chunk:
    """The three digits of the chunk."""
    return Chunk(group, number // 1000 if group is Group.HIGH else number % 1000)


@registry.quantum("GROUP_PROGRESS", output_cardinality=5)
def group_progress(position: int, group: Group, high_length: int) -> int:
    """How many words of the chunk are written."""
    return position - high_length - 1 if group is Group.LOW and high_length else position


@registry.quantum("HUNDREDS_COMPONENT", output_cardinality=10)
def hundreds_component(chunk: Chunk) -> int:
    """The hundreds digit."""
    return chunk.value // 100


@registry.quantum("TAIL_TENS_DIGIT", output_cardinality=10)
def tail_tens_digit(chunk: Chunk) -> int:
    """The tens digit."""
    return chunk.value // 10 % 10


@registry.quantum("TAIL_UNIT_DIGIT", output_cardinality=10)
def tail_unit_digit(chunk: Chunk) -> int:
    """The unit digit."""
    return chunk.value % 10


@registry.quantum("TAIL_KIND", output_cardinality=6)
def classify_tail(tens: int, unit: int) -> TailKind:
    """How the tail is named."""
    return tail_kind(tens, unit)


@registry.quantum("CHUNK_LENGTH", output_cardinality=5)
def content_length(hundreds: int, kind: TailKind) -> int:
    """How many words name the chunk."""
    return chunk_length(hundreds, kind)


@registry.quantum("BOUNDARY_ACTION", output_cardinality=3)
def boundary_action(group: Group, progress: int, length: int) -> BoundaryAction:
    """Go on with the chunk, or close it."""
    if progress < length:
        return BoundaryAction.CONTENT
    return BoundaryAction.THOUSAND if group is Group.HIGH else BoundaryAction.EOS


@registry.quantum("CONTENT_SLOT", output_cardinality=4)
def content_slot(progress: int, hundreds: int) -> ContentSlot:
    """Which word of the chunk comes next."""
    slots = list(ContentSlot)
    return slots[progress if hundreds else progress + 2]


@registry.quantum("LEXICAL_FORM", output_cardinality=4)
def lexical_form(slot: ContentSlot, kind: TailKind) -> LexicalForm:
    """What sort of word it is."""
    if slot is not ContentSlot.TAIL_FIRST or kind is TailKind.UNIT:
        return LexicalForm.UNIT
    if kind is TailKind.TEN:
        return LexicalForm.TEN
    return LexicalForm.TEEN if kind is TailKind.TEEN else LexicalForm.TENS


@registry.quantum("LEXICAL_VALUE", output_cardinality=18)
def lexical_value(slot: ContentSlot, hundreds: int, tens: int, unit: int) -> int:
    """The digit that the word says; 11 to 19 for teens."""
    if slot is ContentSlot.HUNDRED_DIGIT:
        return hundreds
    if slot is ContentSlot.TAIL_SECOND or tens == 0:
        return unit
    return 10 + unit if tens == 1 else tens


@registry.quantum("EMIT_THOUSAND", output_cardinality=1)
def emit_thousand(boundary: BoundaryAction) -> str:
    """Close the high chunk."""
    return "thousand"


@registry.quantum("EMIT_EOS", output_cardinality=1)
def emit_eos(boundary: BoundaryAction) -> str:
    """Close the name."""
    return EOS


@registry.quantum("EMIT_HUNDRED", output_cardinality=1)
def emit_hundred(slot: ContentSlot) -> str:
    """After the hundreds digit."""
    return "hundred"


@registry.quantum("EMIT_TEN", output_cardinality=1)
def emit_ten(form: LexicalForm) -> str:
    """A tail of exactly ten."""
    return TEENS[0]


@registry.quantum("LEX_UNIT", output_cardinality=9)
def lex_unit(value: int) -> str:
    """one … nine."""
    return UNITS[value - 1]


@registry.quantum("LEX_TEEN", output_cardinality=9)
def lex_teen(value: int) -> str:
    """eleven … nineteen."""
    return TEENS[value - 10]


@registry.quantum("LEX_TENS", output_cardinality=8)
def lex_tens(value: int) -> str:
    """twenty … ninety."""
    return TENS[value - 2]


AUDIT = (*PANELS["training"](), *random.Random(0).sample(range(1, LARGEST + 1), 4096))


@registry.entry(audit=AUDIT, vocabulary=LEXICON, end=EOS)
def predict(state: State) -> str | None:
    """The next word of a number's name."""
    number, position = state.source, state.position
    high_length = high_content_length(number)
    group = control_group(position, high_length)
    chunk = select_chunk(number, group)
    progress = group_progress(position, group, high_length)
    hundreds = hundreds_component(chunk)
    tens = tail_tens_digit(chunk)
    unit = tail_unit_digit(chunk)
    kind = classify_tail(tens, unit)
    length = content_length(hundreds, kind)
    boundary = boundary_action(group, progress, length)

    with when(boundary, BoundaryAction.THOUSAND) as close_high:
        if close_high:
            return emit_thousand(boundary)
    with when(boundary, BoundaryAction.CONTENT) as in_chunk:
        if in_chunk:
            slot = content_slot(progress, hundreds)
            with when(slot, ContentSlot.HUNDRED_WORD) as after_digit:
                if after_digit:
                    return emit_hundred(slot)
            form = lexical_form(slot, kind)
            with when(form, LexicalForm.TEN) as ten:
                if ten:
                    return emit_ten(form)
            value = lexical_value(slot, hundreds, tens, unit)
            with when(form, LexicalForm.UNIT) as a_unit:
                if a_unit:
                    return lex_unit(value)
            with when(form, LexicalForm.TEEN) as a_teen:
                if a_teen:
                    return lex_teen(value)
            with when(form, LexicalForm.TENS) as a_ten:
                if a_ten:
                    return lex_tens(value)
    with when(boundary, BoundaryAction.EOS) as close:
        if close:
            return emit_eos(boundary)
    return None
