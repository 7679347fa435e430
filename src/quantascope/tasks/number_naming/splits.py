"""Which numbers are trained on and which are asked: the compositional-generalization split and its panels.

Lists are recomputed, not stored; a test holds their SHA-256. All panels but `balanced`, which contains every
number below a thousand, and `contaminated`, which is kept for comparison with the paper alone, are disjoint from
the training numbers.

    training      300 numbers: reserved lexical and boundary forms, then a draw per length
    balanced      16,384: every number to 999 and a draw of longer ones; 160 of them are trained on
    zero_gap      balanced, untrained, >= 1000, with zeros between nonzero digits
    short_tail    balanced, untrained, >= 1000, whose last three digits are 001 to 099
    calibration   2,048 of one half of the untrained balanced numbers, to choose descriptions on
    test          2,048 of the other half, to score them on
    causal        512 of test
    priority      300 of calibration's half, on which held-out priority is measured
    development   1,024 untrained numbers outside balanced, on which settings may be chosen
    unlabelled    3,000 numbers outside training, balanced and development, whose names no network is shown
    contaminated  the 300 numbers of the paper's saved panel as drawn by its authors; 51 are trained on

`training_50` … `training_600` are smaller and larger training sets, each within the next; the 300 come whole
before any other. No panel but `balanced` holds a number of theirs.
"""

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, partial

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.number_naming.oracle import LARGEST

LENGTHS = range(1, 7)
QUOTA = (9, 59, 58, 58, 58, 58)
_RESERVED = (
    *range(1, 22), *range(30, 100, 10), 99,
    100, 101, 109, 110, 111, 119, 120, 121, 199, 200, 700, 999,
    1000, 1001, 1007, 1010, 1011, 1014, 1019, 1020, 1021, 1099, 1100, 1111, 1200, 9999,
    10_000, 10_001, 10_010, 10_011, 10_019, 10_020, 10_100, 11_111, 99_999,
    *range(11_000, 20_000, 1000),
    100_000, 100_001, 100_010, 100_011, 100_100, 101_000, 110_000, 111_111,
    403_000, 500_000, 521_682, 834_275, 999_999,
)  # fmt: skip
_LEFT_OUT_OF_BALANCED = {
    1000, 1001, 1002, 1021, 1321, 2000, 10_000, 11_000, 12_000, 20_000, 21_000, 100_000, 200_000,
}  # fmt: skip

Numbers = tuple[int, ...]


def digits(number: int) -> int:
    """How many digits a number has."""
    return len(str(number))


def has_zero_gap(number: int) -> bool:
    """Whether zeros stand between nonzero digits.

    >>> has_zero_gap(3002), has_zero_gap(3200)
    (True, False)
    """
    return "0" in str(number).strip("0")


def has_short_tail(number: int) -> bool:
    """Whether a number of at least a thousand ends in 001 to 099."""
    return number >= 1000 and 1 <= number % 1000 <= 99


@cache
def training() -> Numbers:
    """The 300 training numbers of the compositional-generalization split, by length."""
    draw = random.Random(0)
    chosen: list[int] = []
    for length, quota in zip(LENGTHS, QUOTA, strict=True):
        kept = [number for number in _RESERVED if digits(number) == length]
        pool = _without(_of_length(length), set(kept))
        chosen += sorted(kept + draw.sample(pool, quota - len(kept)))
    return tuple(chosen)


@cache
def balanced() -> Numbers:
    """The 16,384 numbers of the balanced evaluation."""
    draw = random.Random(1_000_003)
    chosen = list(range(1, 1000))
    for length, count in zip((4, 5, 6), (5129, 5128, 5128), strict=True):
        chosen += draw.sample([n for n in _of_length(length) if n not in _LEFT_OUT_OF_BALANCED], count)
    return tuple(sorted(chosen))


@cache
def zero_gap() -> Numbers:
    """Untrained balanced numbers of at least a thousand with a zero gap."""
    return tuple(number for number in _held_out() if number >= 1000 and has_zero_gap(number))


@cache
def short_tail() -> Numbers:
    """Untrained balanced numbers with a short tail."""
    return tuple(number for number in _held_out() if has_short_tail(number))


@cache
def calibration() -> Numbers:
    """Numbers to choose descriptions on."""
    return _round_robin(_halves()[0], 2048)


@cache
def test() -> Numbers:
    """Numbers to report on, disjoint from calibration."""
    return _round_robin(_halves()[1], 2048)


@cache
def causal() -> Numbers:
    """Numbers of the test panel to intervene on."""
    return _round_robin(_halves()[1], 512)


@cache
def priority() -> Numbers:
    """Numbers on which held-out priority is measured, from the half that calibration comes from."""
    return _round_robin(_halves()[0], 300)


@cache
def development() -> Numbers:
    """Numbers on which settings may be chosen: outside training and evaluation, so of four digits and more."""
    taken, draw = {*training(), *balanced()}, random.Random(2_000_003)
    pools = [draw.sample(_without(_of_length(length), taken), 342) for length in (4, 5, 6)]
    return _round_robin(pools, 1024)


@cache
def unlabelled() -> Numbers:
    """Numbers that may be asked but whose names are never shown, of four digits and more."""
    taken, draw = {*training(), *balanced(), *development()}, random.Random(4_000_003)
    return tuple(sorted(n for length in (4, 5, 6) for n in draw.sample(_without(_of_length(length), taken), 1000)))


@cache
def training_of(count: int) -> Numbers:
    """The first numbers of an order in which lengths alternate: those of `training`, then 300 others.

    >>> set(training_of(100)) < set(training_of(300)) == set(training())
    True
    """
    if count > (most := 2 * sum(QUOTA)):
        raise InvalidConfig(f"there are {most} numbers to train on, not {count}")
    taken, draw = {*training(), *balanced(), *development(), *unlabelled()}, random.Random(5_000_003)
    known = [draw.sample(pool, len(pool)) for pool in _by_length(training())]
    more = [draw.sample(_without(_of_length(length), taken), 100) for length in (4, 5, 6)]
    first = min(count, sum(QUOTA))
    return tuple(sorted((*_round_robin(known, first), *_round_robin(more, count - first))))


@cache
def contaminated() -> Numbers:
    """The paper's saved 300-number panel as its authors draw it: 51 of its numbers are trained on."""
    draw = random.Random(17_029)
    pools = _by_length(balanced())
    return tuple(sorted(n for pool, quota in zip(pools, QUOTA, strict=True) for n in draw.sample(pool, quota)))


def length_balanced(count: int, *, seed: int) -> Numbers:
    """The coverage control: the same quota from every length, with replacement; overlaps are allowed.

    >>> sorted(digits(number) for number in length_balanced(12, seed=0))
    [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    """
    if count < len(LENGTHS) or count % len(LENGTHS):
        raise InvalidConfig(f"a length-balanced draw of {count} is uneven; give a multiple of {len(LENGTHS)}")
    draw = random.Random(seed)
    return tuple(n for length in LENGTHS for n in draw.choices(_of_length(length), k=count // len(LENGTHS)))


PANELS: dict[str, Callable[[], Numbers]] = {
    panel.__name__: panel
    for panel in (
        training, balanced, zero_gap, short_tail, development, priority, calibration, test, causal, unlabelled,
        contaminated,
    )
} | {f"training_{count}": partial(training_of, count) for count in (50, 100, 200, 300, 600)}  # fmt: skip
"""The fixed lists by name."""


def _of_length(length: int) -> range:
    return range(10 ** (length - 1), min(10**length, LARGEST + 1))


def _without(numbers: Iterable[int], taken: Collection[int]) -> list[int]:
    return [number for number in numbers if number not in taken]


def _held_out() -> Numbers:
    return tuple(sorted(set(balanced()) - set(training())))


def _by_length(numbers: Iterable[int]) -> list[list[int]]:
    pools: list[list[int]] = [[] for _ in LENGTHS]
    for number in numbers:
        pools[digits(number) - 1].append(number)
    return pools


@cache
def _halves() -> tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]:
    """The untrained balanced numbers, shuffled and halved within each length."""
    draw = random.Random(3_000_003)
    pools = [draw.sample(pool, len(pool)) for pool in _by_length(_held_out())]
    return [pool[: len(pool) // 2] for pool in pools], [pool[len(pool) // 2 :] for pool in pools]


def _round_robin(pools: Sequence[Sequence[int]], count: int) -> Numbers:
    """Take from each pool in turn until there are enough, so that long pools contribute equally."""
    deepest = max(map(len, pools))
    turns = [pool[turn] for turn in range(deepest) for pool in pools if turn < len(pool)]
    return tuple(sorted(turns[:count]))
