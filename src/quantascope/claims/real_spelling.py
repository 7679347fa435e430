"""Spelling to sound: a Transformer learns to pronounce English words, compared with the GRU of PyPI `g2p-en`.

The GRU was trained on the dictionary itself, on many of the words that are held out here: it is not a baseline for
generalization, but shows how accurate a network of this kind can be.
"""

from collections.abc import Mapping, Sequence

from quantascope.claims.g2p_gru import data, pronounce
from quantascope.claims.real_source import RealClaim, real_claim
from quantascope.claims.real_study import Number, Study
from quantascope.models import decode
from quantascope.qmodel.recovered.fit import FIT_PRESETS
from quantascope.sources.source import Source
from quantascope.sources.trained import SourceConfig
from quantascope.tasks.spelling.lexicon import sounds_of
from quantascope.tasks.spelling.task import task

PANELS = {
    "test": "test words",
    "test_regular": "regular test words",
    "test_minor": "minor test words",
    "test_exceptions": "exceptions",
}
Sounds = Sequence[str]


def quality(source: Source) -> Mapping[str, Number]:
    """Phoneme and word errors of the source and of the GRU on words that were not trained on."""
    words = source.inputs("test")
    said = {"source": spoken(source, words), "gru": pronounce(words)}
    numbers: dict[str, Number] = {}
    for panel, says in PANELS.items():
        own = [word for word in source.inputs(panel) if word in said["source"]]
        for name, what in (("source", "the source"), ("gru", "the GRU of g2p-en, trained on the dictionary")):
            phonemes, wrong = errors([(said[name][word], sounds_of(word)) for word in own])
            numbers[f"{panel}_phoneme_error_{name}"] = Number(f"phoneme error of {what}, {says}", phonemes, "%")
            numbers[f"{panel}_word_error_{name}"] = Number(f"word error of {what}, {says}", wrong, "%")
    return numbers


def spoken(source: Source, words: Sequence[str]) -> dict[str, Sounds]:
    """The source's greedy pronunciation of each word, up to the end token."""
    asked = source.sequence_task
    prompts = asked.prompts(words)
    room = asked.positions - max(map(len, prompts))
    outputs = decode(source.model(), prompts, end=asked.token[asked.end], limit=room, padding=asked.padding)
    found = {}
    for word, output in zip(words, outputs, strict=True):
        sounds = [asked.vocabulary[token] for token in output]
        found[word] = sounds[: sounds.index(asked.end)] if asked.end in sounds else sounds
    return found


def errors(pairs: Sequence[tuple[Sounds, Sounds]]) -> tuple[float, float]:
    """Edits over right phonemes, and the share of words with any, both in percent.

    >>> errors([("kat", "kat"), ("hu", "hut"), ("a", "a"), ("on", "on"), ("i", "i")])
    (10.0, 20.0)
    """
    edits = [edit_distance(said, right) for said, right in pairs]
    return 100 * sum(edits) / sum(len(right) for _, right in pairs), 100 * sum(map(bool, edits)) / len(pairs)


def edit_distance(first: Sounds, second: Sounds) -> int:
    """The fewest insertions, deletions and replacements from one to the other.

    >>> edit_distance("kitten", "sitting")
    3
    """
    row = list(range(len(second) + 1))
    for place, one in enumerate(first, 1):
        before, row[0] = row[0], place
        for other, two in enumerate(second, 1):
            before, row[other] = row[other], min(row[other] + 1, row[other - 1] + 1, before + (one != two))
    return row[-1]


SOURCE = SourceConfig.parse({"task": "spelling", **task.settings, "measured_on": "training_300"})
"""As `quantascope train spelling` trains it, measured on fewer words; settings are declared, not tuned.

A first source, seed 0, had 40 equal intervals: every quantum was acquired in the first two. Intervals were then
made shorter early in training, and the claim was run on seeds that nobody had looked at.
"""
STUDY = Study(
    fit=FIT_PRESETS["faithful"].replace({"updates": 2000, "parts": 5}),
    contexts=(("token",), ("token", "position"), ("token", "position", "previous")),
    rule="sound by rule",
    exception="another sound of the grapheme",
)
CLAIM = real_claim(
    name="real-spelling",
    says="quanta of a network that learns to pronounce English words",
    full=RealClaim(source=SOURCE, seeds=(10, 11, 12), study=STUDY),
    quick={
        "trained_on": "training_1000", "steps": 200, "intervals": 4, "replays": 4, "model.blocks": 2,
        "model.width": 16, "model.hidden": 32, "schedule.warmup": 10, "schedule.decay_from": 10,
    },
    quality=quality,
    check=data,
)  # fmt: skip
