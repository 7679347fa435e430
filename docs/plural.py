"""English plurals, letter by letter: the program of docs/own-program.md."""

import random

from quantascope.program import Registry, when
from quantascope.tasks.sequence import SequenceTask

registry = Registry()


@registry.quantum("PLACE", output_cardinality=4)
def place(position, word):
    """In the stem, at the first or second letter after it, or at the end."""
    after = position - len(word)
    return "stem" if after < 0 else ["first", "second", "end"][after]


@registry.quantum("HISSES", output_cardinality=2)
def hisses(word):
    return word[-1] in "sxz"


@registry.quantum("LETTER", output_cardinality=26)
def letter(word, position):
    return word[position]


@registry.quantum("ENDING", output_cardinality=3)
def ending(place, hisses):
    letters = "es." if hisses else "s."
    return letters[["first", "second", "end"].index(place)]


WORDS = ["cat", "dog", "box", "bus", "tree", "fizz", "fox", "gas", "cow", "pig", "axe"]
WORDS += ["hawk", "jam", "lynx", "queen", "valve"]


@registry.entry(audit=WORDS, vocabulary=[*"abcdefghijklmnopqrstuvwxyz", "."], end=".")
def predict(state):
    where = place(state.position, state.source)
    with when(where, "stem") as in_stem:
        if in_stem:
            return letter(state.source, state.position)
    with when(where != "stem", True) as after_stem:
        if after_stem:
            return ending(where, hisses(state.source))
    return None


LETTERS, draw = "abcdefghijklmnopqrstuvwxyz", random.Random(0)
MADE_UP = sorted({"".join(draw.choices(LETTERS, k=draw.randint(3, 6))) for _ in range(420)})
draw.shuffle(MADE_UP)

task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", ".", *LETTERS),
    positions=16,
    prompt=tuple,
    answer=predict.write,
    panels={"training": lambda: MADE_UP[:300], "evaluation": lambda: MADE_UP[300:]},
)
