"""English inflection: splits, rules beside the dictionary, properties, and the program that teaches the rules."""

import itertools

import pytest

from quantascope.program import compile_program
from quantascope.programs.inflection import predict, task
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks import packaged
from quantascope.tasks.inflection.lexicon import PANELS, is_regular, lexicon, parts
from quantascope.tasks.packaged import packaged_data


def lemmas(panel):
    return {parts(word)[0] for word in task.panel(panel)}


def test_no_lemma_is_in_two_splits():
    test = lemmas("test") | lemmas("test_exceptions")
    assert not lemmas("training_all") & test
    assert not lemmas("training_all") & lemmas("development")
    assert not lemmas("development") & test


def test_training_panels_are_nested():
    panels = [task.panel(f"training_{size}") for size in (100, 300, 1000, 3000)]
    assert [len(panel) for panel in panels] == [100, 300, 1000, 3000]
    assert all(more[: len(less)] == less for less, more in itertools.pairwise(panels))


@pytest.mark.parametrize(
    ("asked", "form", "regular"),
    [
        ("walk+PAST", "walked", True),
        ("stop+PAST", "stopped", True),
        ("quiz+PLURAL", "quizzes", False),
        ("child+PLURAL", "children", False),
        ("write+PAST", "wrote", False),
        ("prefer+PAST", "preferred", False),
        ("happy+COMPARATIVE", "happier", True),
    ],
)
def test_words_of_the_dictionary_are_regular_or_not(asked, form, regular):
    assert lexicon()[asked] == form
    assert is_regular(asked) is regular


def test_panels_of_tests_are_split_by_the_rules():
    assert all(map(is_regular, task.panel("test_regular")))
    assert not any(map(is_regular, task.panel("test_exceptions")))


def test_the_program_writes_every_regular_test_word_and_no_exception():
    assert all(predict.write(word) == tuple(task.answer(word)) for word in task.panel("test_regular"))
    assert not any(predict.write(word) == tuple(task.answer(word)) for word in task.panel("test_exceptions"))


def test_the_program_compiles_and_its_trace_writes_regular_words():
    words = task.panel("test_regular")[:50]
    compiled = compile_program(predict)
    assert compiled.graph.levels == (0, 0, 0, 0, 1, 2, 3, 3, 3, 4)
    assert list(compiled.trace(words).written()) == [tuple(task.answer(word)) for word in words]


def test_properties_follow_the_events_and_mark_where_an_exception_departs():
    words = ["stop+PAST", "child+PLURAL"]
    table = task.properties(words)
    assert table is not None
    labels = task.labels(words)
    assert table.events == len(labels)

    def where(atom):
        return [place for place, holds in enumerate(table.atom(atom)) if holds]

    assert where("doubles the consonant") == [4]
    assert where("letter 1 of the suffix")[0] == 5
    assert where("departs from the rule") == [13, 14, 15, 16]  # child|ren EOS, where the rule has s


def test_words_outside_the_vocabulary_are_refused():
    with pytest.raises(InvalidConfig, match="'naïve' has the character 'ï'; write it with the letters a to z"):
        task.parse("naïve+PLURAL")
    with pytest.raises(InvalidConfig, match="asks for no form; write WORD\\+FORM"):
        task.parse("walk")
    assert task.parse("blick+past") == "blick+PAST"


def test_a_missing_extra_is_told_with_its_remedy(monkeypatch):
    monkeypatch.setattr(packaged, "find_spec", lambda package: None)
    with pytest.raises(InvalidConfig, match="pip install 'quantascope\\[data\\]'"):
        packaged_data("absent", "words.csv")


def test_every_panel_has_words():
    assert all(PANELS[name]() for name in PANELS)
