"""Addition in columns: two numbers of three digits, their sum written digit by digit from the right.

057 + 968 is written 5 2 0 1. Whether a column receives a carry is read off the column before it: two digits
that add up to more than the digit written beneath them have carried. (a + b + carry = digit + 10 · next carry.)
"""

import random
from enum import Enum

from quantascope.program import Registry, State, when
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.sequence import SequenceTask

COLUMNS = 3
END = "EOS"
DIGITS = tuple("0123456789")

Stage = Enum("Stage", "COLUMN OVERFLOW END")
Pair = tuple[int, int]


def digit_in(number: int, column: int) -> int:
    """A digit by its column from the right; nothing stands outside."""
    return number // 10**column % 10 if 0 <= column < COLUMNS else 0


registry = Registry()


@registry.quantum("COLUMN", output_cardinality=COLUMNS + 2)
def column_of(position: int) -> int:
    """The column that is written next, from the right."""
    return position


@registry.quantum("LEFT_BEFORE", output_cardinality=10)
def left_before(left: int, column: int) -> int:
    """The first number's digit in the column before."""
    return digit_in(left, column - 1)


@registry.quantum("RIGHT_BEFORE", output_cardinality=10)
def right_before(right: int, column: int) -> int:
    """The second number's digit in the column before."""
    return digit_in(right, column - 1)


@registry.quantum("WRITTEN_BEFORE", output_cardinality=10)
def written_before(written: tuple[str, ...], column: int) -> int:
    """The digit written beneath them."""
    return int(written[column - 1]) if column else 0


@registry.quantum("CARRY", output_cardinality=2)
def carry_of(left: int, right: int, written: int) -> int:
    """Whether the column before has carried."""
    return int(left + right > written)


@registry.quantum("STAGE", output_cardinality=3)
def stage_of(column: int, carry: int) -> Stage:
    """Another column, the last carry, or the end."""
    if column < COLUMNS:
        return Stage.COLUMN
    return Stage.OVERFLOW if column == COLUMNS and carry else Stage.END


@registry.quantum("LEFT_DIGIT", output_cardinality=10)
def left_digit(left: int, column: int) -> int:
    """The first number's digit."""
    return digit_in(left, column)


@registry.quantum("RIGHT_DIGIT", output_cardinality=10)
def right_digit(right: int, column: int) -> int:
    """The second number's digit."""
    return digit_in(right, column)


@registry.quantum("COLUMN_SUM", output_cardinality=19)
def column_sum(left: int, right: int) -> int:
    """Both digits together."""
    return left + right


@registry.quantum("EMIT_DIGIT", output_cardinality=10)
def emit_digit(total: int, carry: int) -> str:
    """The last digit of the column's sum."""
    return DIGITS[(total + carry) % 10]


@registry.quantum("EMIT_OVERFLOW", output_cardinality=1)
def emit_overflow(stage: Stage) -> str:
    """The carry out of the last column."""
    return DIGITS[1]


@registry.quantum("EMIT_END", output_cardinality=1)
def emit_end(stage: Stage) -> str:
    """Nothing is left."""
    return END


def pairs(count: int, seed: int) -> tuple[Pair, ...]:
    """Distinct pairs of numbers in random order."""
    drawn = random.Random(seed).sample(range(10 ** (2 * COLUMNS)), count)
    return tuple(divmod(both, 10**COLUMNS) for both in drawn)


@registry.entry(audit=pairs(2000, seed=0), vocabulary=(*DIGITS, END), end=END)
def predict(state: State) -> str | None:
    """The next digit of a sum."""
    left, right = state.source
    column = column_of(state.position)
    carry = carry_of(left_before(left, column), right_before(right, column), written_before(state.written, column))
    stage = stage_of(column, carry)
    with when(stage, Stage.COLUMN) as another:
        if another:
            return emit_digit(column_sum(left_digit(left, column), right_digit(right, column)), carry)
    with when(stage, Stage.OVERFLOW) as overflows:
        if overflows:
            return emit_overflow(stage)
    with when(stage, Stage.END) as finished:
        if finished:
            return emit_end(stage)
    return None


def carried_through(pair: Pair) -> bool:
    """Whether a carry passes through a column whose own digits add up to nine."""
    return any(
        digit_in(pair[0], column) + digit_in(pair[1], column) == 9
        and sum(number % 10**column for number in pair) >= 10**column
        for column in range(1, COLUMNS)
    )


TRAINING, DEVELOPMENT, EVALUATION = 300, 1024, 8192
DRAWN = pairs(TRAINING + DEVELOPMENT + EVALUATION, seed=1)


def further(count: int, seed: int) -> tuple[Pair, ...]:
    """Pairs outside every panel, in random order."""
    taken, draw, found = set(DRAWN), random.Random(4_000_003 + seed), []
    while len(found) < count:
        pair = divmod(draw.randrange(10 ** (2 * COLUMNS)), 10**COLUMNS)
        if pair not in taken:
            found.append(pair)
    return tuple(found)


def read_pair(text: str) -> Pair:
    """The pair that a person types, as in 12+345."""
    left, plus, right = text.replace(" ", "").partition("+")
    most = 10**COLUMNS - 1
    if not plus or not all(part.isdecimal() and int(part) <= most for part in (left, right)):
        raise InvalidConfig(f"'{text}' is no sum; give two numbers up to {most}, as in 12+345")
    return int(left), int(right)


task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", END, "+", *DIGITS),
    positions=2 * COLUMNS + 8,
    prompt=lambda pair: f"{pair[0]:0{COLUMNS}}+{pair[1]:0{COLUMNS}}",
    answer=predict.write,
    panels={
        "training": lambda: DRAWN[:TRAINING],
        **{f"training_{count}": lambda count=count: DRAWN[:count] for count in (100, 200, 300)},
        "development": lambda: DRAWN[TRAINING:-EVALUATION],
        "evaluation": lambda: DRAWN[-EVALUATION:],
        "carried_through": lambda: tuple(pair for pair in DRAWN[-EVALUATION:] if carried_through(pair)),
    },
    reported=("evaluation", "carried_through"),
    end=END,
    read=read_pair,
    pool=further,
)
