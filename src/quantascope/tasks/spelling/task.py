"""Spelling to sound as a sequence task: letters in, phonemes with their stress out."""

from quantascope.tasks.sequence import SequenceTask
from quantascope.tasks.spelling.lexicon import LONGEST, MOST_SOUNDS, PANELS, data, read_word, sounds_of
from quantascope.tasks.spelling.properties import CLASS_OF, END, spelling_probes, spelling_properties

LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
VOWELS = ("AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW")
PHONEMES = (*(f"{vowel}{stress}" for vowel in VOWELS for stress in "012"), *CLASS_OF)

task = SequenceTask(
    vocabulary=("PAD", "BOS", "SEP", END, *LETTERS, *PHONEMES),
    positions=LONGEST + MOST_SOUNDS + 3,
    prompt=tuple,
    answer=lambda word: (*sounds_of(word), END),
    panels=PANELS,
    reported=("test", "test_regular", "test_minor", "test_exceptions"),
    end=END,
    read=read_word,
    describe=spelling_properties,
    probes=spelling_probes,
    data=data,
    settings={
        "model": {"blocks": 3, "width": 64, "heads": 4, "hidden": 128},
        "optimizer": {"name": "adam", "learning_rate": 3e-3},
        "schedule": {"warmup": 200, "decay": "cosine", "decay_from": 200},
        "batch": 64,
        "steps": 10_000,
        "spacing": "logarithmic",
        "measured_on": "training_1000",
        "replays": 40,
    },
)
