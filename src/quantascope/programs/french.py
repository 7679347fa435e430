"""Number naming in French, word by word: scores of sixty and eighty, "et", and plurals that depend on what
follows.

91 780 is "quatre vingt onze mille sept cent quatre vingts": eighty is four twenties, ninety-one is eighty and
eleven, "vingts" has its s only at the very end. "mille" alone is a thousand; twenty-one is "vingt et un", but
eighty-one is "quatre vingt un". Hyphens are written as spaces.
"""

import random
from enum import Enum
from functools import cache
from typing import NamedTuple

from quantascope.program import Registry, State, when
from quantascope.tasks.number_naming.task import read_number
from quantascope.tasks.sequence import SequenceTask

END = "EOS"
SMALL = (
    "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze", "treize",
    "quatorze", "quinze", "seize",
)  # fmt: skip
SCORES = {20: "vingt", 30: "trente", 40: "quarante", 50: "cinquante", 60: "soixante", 80: "vingt"}
LEXICON = (*SMALL, *dict.fromkeys(SCORES.values()), "vingts", "et", "cent", "cents", "mille", END)
LARGEST = 999_999

Group = Enum("Group", "HIGH LOW")
Slot = Enum("Slot", "HUNDREDS CENT CENTS QUATRE SCORE VINGTS ET REST AFTER_TEN MILLE END")
Kind = Enum("Kind", "VALUE SCORE WORD")
Plan = tuple[Slot, ...]


class Chunk(NamedTuple):
    """Three digits, and which three."""

    group: Group
    value: int


def score(chunk: int) -> int:
    """The largest of 20, 30, 40, 50, 60 and 80 in the last two digits; seventy is sixty and ten."""
    return max((size for size in SCORES if size <= chunk % 100), default=0)


def plan(hundreds: int, score: int, rest: int, linked: bool) -> Plan:
    """The words that name a chunk, in order."""
    words: list[Slot] = []
    if hundreds > 1:
        words.append(Slot.HUNDREDS)
    if hundreds:
        words.append(Slot.CENT)
    if score == 80:
        words.append(Slot.QUATRE)
    if score:
        words.append(Slot.SCORE)
    if linked:
        words.append(Slot.ET)
    if rest:
        words.append(Slot.REST)
    if rest > 16:
        words.append(Slot.AFTER_TEN)
    return tuple(words)


def has_et(score: int, rest: int) -> bool:
    """Whether "et" joins score and rest: vingt et un, soixante et onze, but quatre vingt un."""
    return 20 <= score <= 60 and rest in (1, 11)


registry = Registry()


@registry.quantum("HIGH_LENGTH", output_cardinality=8)
def high_length(number: int) -> int | None:
    """How many words stand before "mille": none for one thousand; None without thousands."""
    high = number // 1000
    if high <= 1:
        return 0 if high else None
    rest = high % 100 - score(high)
    return len(plan(high // 100, score(high), rest, has_et(score(high), rest)))


@registry.quantum("GROUP", output_cardinality=2)
def group_of(position: int, before_mille: int | None) -> Group:
    """Which chunk is being named; "mille" belongs to the high one."""
    return Group.HIGH if before_mille is not None and position <= before_mille else Group.LOW


@registry.quantum("CHUNK", output_cardinality=2000)
def chunk_of(number: int, group: Group) -> Chunk:
    """The three digits of the chunk; a single thousand has nothing to say before "mille"."""
    if group is Group.LOW:
        return Chunk(group, number % 1000)
    return Chunk(group, number // 1000 if number >= 2000 else 0)


@registry.quantum("PROGRESS", output_cardinality=7)
def progress_of(position: int, group: Group, before_mille: int | None) -> int:
    """How many words of the chunk are written."""
    return position if group is Group.HIGH or before_mille is None else position - before_mille - 1


@registry.quantum("HUNDREDS", output_cardinality=10)
def hundreds_of(chunk: Chunk) -> int:
    """The hundreds digit."""
    return chunk.value // 100


@registry.quantum("SCORE", output_cardinality=7)
def score_of(chunk: Chunk) -> int:
    """The score that the tail counts from."""
    return score(chunk.value)


@registry.quantum("REST", output_cardinality=20)
def rest_of(chunk: Chunk) -> int:
    """What the score leaves of the tail: 0 to 19."""
    return chunk.value % 100 - score(chunk.value)


@registry.quantum("LINK", output_cardinality=2)
def link_of(score: int, rest: int) -> bool:
    """Whether "et" joins them."""
    return has_et(score, rest)


@registry.quantum("PLAN", output_cardinality=30)
def plan_of(hundreds: int, score: int, rest: int, linked: bool) -> Plan:
    """The words of the chunk."""
    return plan(hundreds, score, rest, linked)


@registry.quantum("SLOT", output_cardinality=11)
def slot_of(plan: Plan, progress: int, group: Group) -> Slot:
    """The word that is next; several hundreds and four twenties take an s where nothing follows."""
    if progress == len(plan):
        return Slot.MILLE if group is Group.HIGH else Slot.END
    last = group is Group.LOW and progress == len(plan) - 1
    if last and plan[-2:] == (Slot.HUNDREDS, Slot.CENT):
        return Slot.CENTS
    if last and plan[-2:] == (Slot.QUATRE, Slot.SCORE):
        return Slot.VINGTS
    return plan[progress]


@registry.quantum("KIND", output_cardinality=3)
def kind_of(slot: Slot) -> Kind:
    """Whether the word says a value, a score, or is fixed by its slot."""
    if slot in (Slot.HUNDREDS, Slot.REST, Slot.AFTER_TEN):
        return Kind.VALUE
    return Kind.SCORE if slot is Slot.SCORE else Kind.WORD


@registry.quantum("VALUE", output_cardinality=16)
def value_of(slot: Slot, hundreds: int, rest: int) -> int:
    """The number from 1 to 16 that the word says; seventeen is ten and seven."""
    if slot is Slot.HUNDREDS:
        return hundreds
    if slot is Slot.AFTER_TEN:
        return rest - 10
    return min(rest, 10) if rest > 16 else rest


@registry.quantum("LEX_SMALL", output_cardinality=16)
def lex_small(value: int) -> str:
    """un … seize."""
    return SMALL[value - 1]


@registry.quantum("LEX_SCORE", output_cardinality=5)
def lex_score(score: int) -> str:
    """vingt … soixante, and the vingt of quatre vingt."""
    return SCORES[score]


@registry.quantum("EMIT_CENT", output_cardinality=1)
def emit_cent(slot: Slot) -> str:
    """A hundred, or hundreds with something after them."""
    return "cent"


@registry.quantum("EMIT_CENTS", output_cardinality=1)
def emit_cents(slot: Slot) -> str:
    """Hundreds at the end."""
    return "cents"


@registry.quantum("EMIT_QUATRE", output_cardinality=1)
def emit_quatre(slot: Slot) -> str:
    """The four of eighty."""
    return "quatre"


@registry.quantum("EMIT_VINGTS", output_cardinality=1)
def emit_vingts(slot: Slot) -> str:
    """Eighty at the end."""
    return "vingts"


@registry.quantum("EMIT_ET", output_cardinality=1)
def emit_et(slot: Slot) -> str:
    """The link."""
    return "et"


@registry.quantum("EMIT_MILLE", output_cardinality=1)
def emit_mille(slot: Slot) -> str:
    """Close the high chunk."""
    return "mille"


@registry.quantum("EMIT_END", output_cardinality=1)
def emit_end(slot: Slot) -> str:
    """Close the name."""
    return END


FIXED_WORDS = {
    Slot.CENT: emit_cent,
    Slot.CENTS: emit_cents,
    Slot.QUATRE: emit_quatre,
    Slot.VINGTS: emit_vingts,
    Slot.ET: emit_et,
    Slot.MILLE: emit_mille,
    Slot.END: emit_end,
}


@registry.entry(
    audit=(*range(1, 2001), *random.Random(0).sample(range(2001, LARGEST + 1), 2000)), vocabulary=LEXICON, end=END
)
def predict(state: State) -> str | None:
    """The next word of a number's name."""
    before_mille = high_length(state.source)
    group = group_of(state.position, before_mille)
    chunk = chunk_of(state.source, group)
    progress = progress_of(state.position, group, before_mille)
    hundreds = hundreds_of(chunk)
    score = score_of(chunk)
    rest = rest_of(chunk)
    slot = slot_of(plan_of(hundreds, score, rest, link_of(score, rest)), progress, group)
    kind = kind_of(slot)

    with when(kind, Kind.VALUE) as says_value:
        if says_value:
            return lex_small(value_of(slot, hundreds, rest))
    with when(kind, Kind.SCORE) as says_score:
        if says_score:
            return lex_score(score)
    with when(kind, Kind.WORD) as is_fixed:
        if is_fixed:
            for case, emit in FIXED_WORDS.items():
                with when(slot, case) as here:
                    if here:
                        return emit(slot)
    return None


def name(number: int) -> tuple[str, ...]:
    """The whole name, with its end.

    >>> name(91_780)
    ('quatre', 'vingt', 'onze', 'mille', 'sept', 'cent', 'quatre', 'vingts', 'EOS')
    """
    return predict.write(number)


RESERVED = (
    *range(1, 22), *range(30, 100, 10), 31, 61, 71, 72, 77, 81, 91, 97, 99, 100, 101, 111, 180, 181, 200, 201,
    280, 999, 1000, 1001, 1080, 1100, 1200, 2000, 2001, 21_000, 71_000, 80_000, 80_080, 81_000, 100_000,
    200_000, 200_200, 280_000, 280_280, 999_999,
)  # fmt: skip
"""Forms that no training set should miss: every word, every way to join them, every plural and its absence."""


def is_vigesimal(number: int) -> bool:
    """Whether a name counts in scores: 70 to 79 or 80 to 99 in a chunk."""
    return number % 100 >= 70 or number // 1000 % 100 >= 70


@cache
def drawn() -> dict[str, tuple[int, ...]]:
    """Disjoint lists, drawn alike from three to six digits; training begins with the reserved forms."""
    draw = random.Random(0)
    lists: dict[str, list[int]] = {"training": [*RESERVED], "development": [], "evaluation": []}
    for digits in range(3, 7):
        pool = [number for number in range(10 ** (digits - 1), 10**digits) if number not in RESERVED]
        draw.shuffle(pool)
        for panel, count in {"training": 59, "development": 256, "evaluation": 1024}.items():
            lists[panel] += pool[:count]
            del pool[:count]
    return {panel: tuple(sorted(numbers)) for panel, numbers in lists.items()}


def training_of(count: int) -> tuple[int, ...]:
    """So many of the training numbers, the reserved forms first; each list is within the next."""
    others = [number for number in drawn()["training"] if number not in RESERVED]
    random.Random(1).shuffle(others)
    return tuple(sorted([*RESERVED, *others][:count]))


def further(count: int, seed: int) -> tuple[int, ...]:
    """Numbers of three to six digits outside every panel, in random order."""
    taken = {number for numbers in drawn().values() for number in numbers}
    draw, found = random.Random(4_000_003 + seed), []
    while len(found) < count:
        digits = draw.randrange(3, 7)
        number = draw.randrange(10 ** (digits - 1), 10**digits)
        if number not in taken:
            found.append(number)
    return tuple(found)


task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", END, *"0123456789", *(word for word in LEXICON if word != END)),
    positions=24,
    prompt=str,
    answer=name,
    panels={
        "training": lambda: drawn()["training"],
        **{f"training_{count}": lambda count=count: training_of(count) for count in (100, 200, 300)},
        "development": lambda: drawn()["development"],
        "evaluation": lambda: drawn()["evaluation"],
        "vigesimal": lambda: tuple(number for number in drawn()["evaluation"] if is_vigesimal(number)),
    },
    reported=("evaluation", "vigesimal"),
    read=read_number,
    pool=further,
)
