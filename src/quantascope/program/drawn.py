"""`drawn`: a sample of items, the same each time, that no regular order of the items can evade."""

from collections.abc import Iterable
from itertools import pairwise
from random import Random
from typing import Any

SEED = 0
"""Seed of every sample that the compiler draws."""


def drawn(items: Iterable[Any], count: int) -> list[Any]:
    """At most `count` of the items, one at random from each of `count` equal parts, in their order.

    A fixed stride would see the same case every time if cases alternate, such as even and odd inputs.

    >>> len(drawn(range(10), 4)), drawn("abc", 4)
    (4, ['a', 'b', 'c'])
    """
    items = list(items)
    if len(items) <= count:
        return items
    draw = Random(SEED)
    ends = (len(items) * part // count for part in range(count + 1))
    return [items[draw.randrange(start, end)] for start, end in pairwise(ends)]
