"""A tour of Python: dataclasses, named tuples, keywords, *args, slices, helpers, loops over tuples, lift."""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from quantascope.program import Registry, lift, when

registry = Registry()


@dataclass(frozen=True)
class Word:
    text: str
    vowels: int = 0


class Ends(NamedTuple):
    first: str
    last: str


@registry.quantum("STAGE", output_cardinality=2)
def stage(position):
    return "write" if position == 0 else "end"


@registry.quantum("WORD", output_cardinality=99)
def word(text):
    return Word(text, sum(letter in "aeiou" for letter in text))


@registry.quantum("ENDS", output_cardinality=99)
def ends(*, text, case="lower"):
    return Ends(getattr(text[0], case)(), getattr(text[-1], case)())


@registry.quantum("SCORE", output_cardinality=99)
def score(*parts, weights, **more):
    return sum(weights[key] for key in parts) + more["bonus"]


@registry.quantum("MARK", output_cardinality=9)
def mark(score, same):
    return str((score + same) % 5)


@registry.quantum("END", output_cardinality=1)
def end(stage):
    return "."


def same_ends(first, last):
    return lift(int, first == last)


@registry.entry(
    audit=["anna", "bob", "cat", "dodo", "eve", "fig", "gag", "queue", "aa", "ab", "zebra"],
    vocabulary=[*"01234", "."],
    end=".",
)
def predict(state):
    now = stage(position=state.position)
    with when(now, "end") as over:
        if over:
            return end(now)
    with when(now, "write") as writing:
        if writing:
            found = word(state.source)
            both = ends(text=found.text[0:9], case="upper")
            weights = defaultdict(int, {"vowels": found.vowels})
            total = score("vowels", "nothing", weights=weights, bonus=lift(max, found.vowels, 2, key=abs))
            total += sum(0 for _ in both)
            return mark(total, same_ends(*both))
    return None


EDGES = {"STAGE": "WORD END", "WORD": "ENDS SCORE", "ENDS": "MARK", "SCORE": "MARK"}
WRITES = {"anna": "0 .", "fig": "3 .", "queue": "3 ."}
