"""Regular English inflection: *carry* and PAST give *carried*, by spelling rules, letter by letter.

The program knows no exceptions. The task has them: its answers are those of PyPI `lemminflect`.
"""

from quantascope.program import Program, Registry, State, when
from quantascope.tasks.inflection.lexicon import (
    LONGEST,
    LONGEST_FORM,
    PANELS,
    SHORTEST,
    data,
    form_of,
    parts,
    read_asked,
)
from quantascope.tasks.inflection.properties import END, inflection_probes, inflection_properties
from quantascope.tasks.inflection.rules import FORMS, Rules, ending_of
from quantascope.tasks.sequence import SequenceTask

LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
STEM, CHANGED = "stem", "changed"
WORDS = (
    "box", "fizz", "gas", "catch", "wish", "bake", "large", "move", "carry", "happy", "spy", "stop", "big", "jam",
    "quit", "walk", "cold", "visit", "queen", "play", "hawk", "lynx", "vex", "adjoin", "zigzag", "kayak", "few",
    "chef", "den", "fib", "gel", "hod", "kid", "lob", "mar", "mynah", "nag", "pat", "rev", "tic", "van", "wok",
    "yak", "zap", "grand", "notice", "narrow", "strange", "consider", "advertise", "gloomy", "understand",
    "temperature", "abbreviate", "acknowledge", "championship", "characterize",
)  # fmt: skip


def inflection_program(rules: Rules) -> Program:
    """The program that inflects by these rules."""
    registry = Registry()

    @registry.quantum("FORM", output_cardinality=3)
    def asked_form(asked: str) -> str:
        """Plural, past or comparative."""
        return parts(asked)[1]

    @registry.quantum("ENDING", output_cardinality=5)
    def ending(asked: str) -> str:
        """The kind of ending of the lemma."""
        return ending_of(parts(asked)[0])

    @registry.quantum("INDEX", output_cardinality=LONGEST_FORM + 1)
    def index(position: int) -> int:
        """Which letter of the form is written."""
        return position

    @registry.quantum("LENGTH", output_cardinality=LONGEST - SHORTEST + 1)
    def length(asked: str) -> int:
        """The letters of the lemma."""
        return len(parts(asked)[0])

    @registry.quantum("CHANGE", output_cardinality=3)
    def change(ending: str, form: str) -> str:
        """What happens to the end of the stem."""
        return rules.change_of(ending, form)

    @registry.quantum("PLACE", output_cardinality=5)
    def place_of(index: int, length: int, change: str) -> str | int:
        """In the stem, at its changed letter, or so many letters into the suffix."""
        after = index - length + (change == "y to i")
        if after < 0:
            return STEM
        if change != "none":
            return CHANGED if after == 0 else after - 1
        return after

    @registry.quantum("SUFFIX", output_cardinality=6)
    def suffix(ending: str, form: str) -> str:
        """The letters that follow the stem."""
        return rules.suffix_of(ending, form)

    @registry.quantum("EMIT_STEM", output_cardinality=26)
    def emit_stem(asked: str, index: int) -> str:
        """A letter of the stem."""
        return rules.stem_of(parts(asked)[0])[index]

    @registry.quantum("EMIT_CHANGED", output_cardinality=27)
    def emit_changed(asked: str, change: str) -> str:
        """An i for a y, or the last letter once more."""
        return "i" if change == "y to i" else rules.stem_of(parts(asked)[0])[-1]

    @registry.quantum("EMIT_SUFFIX", output_cardinality=5)
    def emit_suffix(suffix: str, place: int) -> str:
        """A letter of the suffix, or the end."""
        return (*suffix, END)[place]

    @registry.entry(
        audit=tuple(f"{word}+{form}" for word in WORDS for form in FORMS), vocabulary=(*LETTERS, END), end=END
    )
    def predict(state: State) -> str | None:
        """The next letter of the form by the rules."""
        asked, letter = state.source, index(state.position)
        form, kind = asked_form(asked), ending(asked)
        changes = change(kind, form)
        place = place_of(letter, length(asked), changes)
        with when(place, STEM) as in_stem:
            if in_stem:
                return emit_stem(asked, letter)
        with when(place, CHANGED) as at_change:
            if at_change:
                return emit_changed(asked, changes)
        with when((place != STEM) & (place != CHANGED), True) as after_stem:
            if after_stem:
                return emit_suffix(suffix(kind, form), place)
        return None

    return predict


predict = inflection_program(Rules())

task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", END, *FORMS, *LETTERS),
    positions=LONGEST + LONGEST_FORM + 3,
    prompt=lambda asked: (*parts(asked)[0], parts(asked)[1]),
    answer=lambda asked: (*form_of(asked), END),
    panels=PANELS,
    reported=("test", "test_regular", "test_exceptions"),
    end=END,
    read=read_asked,
    describe=inflection_properties,
    probes=inflection_probes,
    data=data,
    exceptions=True,
    settings={
        "model": {"blocks": 3, "width": 48, "heads": 4, "hidden": 96},
        "optimizer": {"name": "adam", "learning_rate": 3e-3},
        "schedule": {"warmup": 100, "decay": "cosine", "decay_from": 100},
        "batch": 64,
        "steps": 4000,
    },
)
