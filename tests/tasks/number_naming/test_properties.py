"""The property table of number naming against the names themselves, and against the program that writes them."""

import numpy as np
import pytest

from quantascope.programs.english import LEXICON
from quantascope.semantics import shared_atoms
from quantascope.tasks.number_naming import PANELS, VOCABULARY, naming_events, number_name
from quantascope.tasks.number_naming.oracle import TEENS, TENS, UNITS
from quantascope.tasks.number_naming.properties import LIBRARY, PLACES, ZEROS, naming_properties, zero_properties

NUMBERS = [*range(1, 1200), *range(1200, 999_999, 7919), 3002, 20_000, 100_000, 110_010, 999_999]


@pytest.fixture(scope="module")
def asked():
    return naming_properties(NUMBERS), naming_events(NUMBERS)


@pytest.fixture(scope="module")
def rows():
    """Each event as its number, the words before it and its word, from the oracle alone."""
    return [
        (number, words[:index], words[index])
        for number in NUMBERS
        for words in [(*number_name(number), "EOS")]
        for index in range(len(words))
    ]


def check_where_it_holds(table, name, rows, rule):
    np.testing.assert_array_equal(table.atom(name), [bool(rule(*row)) for row in rows], err_msg=name)


def test_events_are_those_of_the_task_in_their_order(asked):
    table, events = asked
    np.testing.assert_array_equal(table.example, events.example.numpy())
    for word in LEXICON:
        np.testing.assert_array_equal(
            table.atom(f"writes {word}"), events.target.numpy() == VOCABULARY.index(word)
        )
    for index in range(10):
        np.testing.assert_array_equal(table.atom(f"output {index}"), events.index.numpy() == index)


def test_words_before_and_now_say_what_is_said(asked, rows):
    table, _ = asked
    check_where_it_holds(table, "after start", rows, lambda n, before, word: not before)
    for said in LEXICON[:-1]:
        check_where_it_holds(
            table, f"after {said}", rows, lambda n, before, word, said=said: before[-1:] == (said,)
        )
    families = {
        "unit": UNITS,
        "ten": TEENS[:1],
        "teen": TEENS[1:],
        "tens": TENS,
        "multiplier": ("hundred", "thousand"),
    }
    for family, words in families.items():
        check_where_it_holds(table, f"{family} lexeme", rows, lambda n, before, word, words=words: word in words)
    for word in ("hundred", "thousand", "EOS"):
        check_where_it_holds(table, f"emit {word}", rows, lambda n, before, now, word=word: now == word)
    check_where_it_holds(table, "emit value", rows, lambda n, b, word: word not in ("hundred", "thousand", "EOS"))
    check_where_it_holds(
        table, "value read", rows, lambda n, b, word: word not in ("hundred", "thousand", "EOS", "ten")
    )


def test_digits_are_those_of_the_number(asked, rows):
    table, _ = asked
    for power, place in enumerate(PLACES):
        for digit in range(10):
            name = f"{place} digit {digit}"
            if name in table.names:
                check_where_it_holds(
                    table, name, rows, lambda n, b, w, p=power, d=digit: n >= 10**p and n // 10**p % 10 == d
                )
    for length in range(1, 7):
        check_where_it_holds(
            table, f"{length}-digit input", rows, lambda n, b, w, length=length: len(str(n)) == length
        )


def test_the_chunk_is_high_until_thousand_is_said(asked, rows):
    table, _ = asked

    def chunk(n, before):
        return n % 1000 if "thousand" in before or n < 1000 else n // 1000

    check_where_it_holds(table, "high chunk", rows, lambda n, before, w: n >= 1000 and "thousand" not in before)
    check_where_it_holds(table, "low chunk", rows, lambda n, before, w: n < 1000 or "thousand" in before)
    check_where_it_holds(table, "chunk empty", rows, lambda n, before, w: chunk(n, before) == 0)
    check_where_it_holds(table, "chunk present", rows, lambda n, before, w: chunk(n, before) > 0)
    check_where_it_holds(table, "chunk has hundreds", rows, lambda n, before, w: chunk(n, before) // 100)
    check_where_it_holds(table, "chunk has tail", rows, lambda n, before, w: chunk(n, before) % 100)
    check_where_it_holds(table, "tail is ten", rows, lambda n, before, w: chunk(n, before) % 100 == 10)
    check_where_it_holds(
        table, "tail is a teen", rows, lambda n, before, w: chunk(n, before) % 100 in range(11, 20)
    )
    tail = {n: number_name(n) for n in range(1, 100)}
    check_where_it_holds(
        table, "tail has tens", rows, lambda n, b, w: set(tail.get(chunk(n, b) % 100, ())) & set(TENS)
    )
    check_where_it_holds(
        table, "tail has units", rows, lambda n, b, w: set(tail.get(chunk(n, b) % 100, ())) & set(UNITS)
    )


def test_roles_and_values_rebuild_the_number(asked):
    """The digits read, at their places, add up to the number; ten and the teens bring their own one."""
    table, _ = asked
    value = sum(digit * table.atom(f"reads {digit}") for digit in range(1, 10))
    worth = sum(10**power * table.atom(f"{place} role") for power, place in enumerate(PLACES))
    teen, ten = table.atom("teen form"), table.atom("ten form")
    spelled = np.where(teen, worth + value * worth // 10, np.where(ten, worth, value * worth))
    np.testing.assert_array_equal(np.bincount(table.example, weights=spelled).astype(int), NUMBERS)


def test_zeros_are_passed_once_each_and_where_the_name_goes_on(rows):
    table = zero_properties(NUMBERS)
    for power, place in enumerate(PLACES[:-1]):
        check_where_it_holds(
            table, f"zero at {place}", rows, lambda n, b, w, p=power: n >= 10**p and n // 10**p % 10 == 0
        )
        passed = np.bincount(table.example, weights=table.atom(f"passes over a zero at {place}"))
        said = [
            n >= 10**power and n // 10**power % 10 == 0 and not (power % 3 == 0 and n // 10**power % 100 == 10)
            for n in NUMBERS
        ]
        np.testing.assert_array_equal(passed, said)  # the zero of ten is said, every other is passed once
    any_place = np.logical_or.reduce([table.atom(f"passes over a zero at {place}") for place in PLACES[:-1]])
    np.testing.assert_array_equal(table.atom("passes over any zero"), any_place)


def test_a_zero_is_passed_by_the_word_after_it():
    def words_that_pass(number, place):
        words = (*number_name(number), "EOS")
        passes = zero_properties([number]).atom(f"passes over a zero at {place}")
        return [word for word, here in zip(words, passes, strict=True) if here]

    assert words_that_pass(3002, "hundreds") == ["two"]
    assert words_that_pass(20_300, "thousands") == ["thousand"]
    assert words_that_pass(800, "units") == ["EOS"]
    assert words_that_pass(7010, "hundreds") == ["ten"]
    assert words_that_pass(504_019, "ten-thousands") == ["four"]


def test_every_phrase_of_the_library_is_kept_on_the_panels_of_the_claim():
    calibration, test = (naming_properties(PANELS[panel]()) for panel in ("calibration", "test"))
    kept, _ = shared_atoms(calibration, test)
    lost = [phrase for phrase in LIBRARY.values() if "{}" not in phrase and phrase not in kept.names]
    assert lost == ["chunk present", "chunk empty"]  # thousands without a rest are too few
    assert len(kept) > 130
    zeros, _ = shared_atoms(*(zero_properties(PANELS[panel]()) for panel in ("calibration", "test")))
    assert zeros.names == tuple(ZEROS.values())
