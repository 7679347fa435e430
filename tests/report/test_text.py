"""Text of strangers, made fit for a terminal, a table and a figure."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.cbook import is_math_text
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser

from quantascope.report.text import MOST, plain

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=100)
STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")


@given(ANY_TEXT)
@example("\x1b[2J\x07")
@example("\u202eevil\u2028line\u200b")
@example("\ud800")
def test_no_control_character_comes_through_and_the_line_is_one_short_one(text):
    shown = plain(text)
    assert not [sign for sign in shown if unicodedata.category(sign) in STEERING]
    assert 1 <= len(shown) <= MOST
    assert shown.splitlines() == [shown]
    shown.encode()  # can be written


@given(ANY_TEXT)
@example("$x$")
@example(r"\$x\$")
@example(r"\\$\frac{$")
@example("$" * 99)
def test_nothing_is_a_formula_to_mathtext(text):
    shown = plain(text)
    assert not is_math_text(shown)
    assert not is_math_text(f"{shown} and {shown}")


@pytest.mark.parametrize("text", ["$x$", "$_{", r"\$x$", "$" * 99, "x" * 58 + "$$"])
def test_a_formula_is_drawn_as_it_was_written_beside_one_of_our_own(text):
    figure, beside = Figure(), f"$\\bf{{(a)}}$ {plain(text)}"
    figure.text(0, 0, plain(text))
    figure.text(0, 0, beside)
    figure.canvas.draw()
    drawn = "".join(chr(glyph[2]) for glyph in MathTextParser("path").parse(beside).glyphs)
    assert drawn.replace(" ", "") == f"(a){plain(text)}".replace(r"\$", "$")


def test_text_without_anything_strange_stays_as_it_is():
    for text in ("seventy", "L0.Q3 ablated", "[/INST]", "naïve", "数"):
        assert plain(text) == text


def test_what_cannot_be_seen_gets_a_sign():
    assert [plain(one) for one in (" ", "Ġthe", "▁the", " the", "Ċ", "\n", "\t", "")] == (
        ["␣", "␣the", "␣the", "␣the", "⏎", "⏎", "⇥", "∅"]
    )


def test_long_text_says_that_it_goes_on():
    assert plain("x" * 100, 10) == "x" * 9 + "…"
    assert plain("x" * 10, 10) == "x" * 10
