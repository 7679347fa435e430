"""Properties of source code, by hand."""

from quantascope.tasks.code.corpus import Place
from quantascope.tasks.code.properties import code_properties

TEXT = '''"""Doc."""
import os

def area(width, height):
    """Say."""
    if width:  # not
        return width * max(height, 1)
    return os.curdir
'''


def said(atom, offset=0):
    """The characters that have a property, each part of the text that is left out as one dot."""
    length = len(TEXT) - offset
    table = code_properties([(TEXT, Place("a.py", offset), length)])
    held = dict(zip(range(offset + 1, offset + length), table.atom(atom), strict=True))
    shown = "".join(TEXT[at] if holds else "." for at, holds in held.items())
    return [part for part in shown.split(".") if part]


def test_tokens_are_told_by_tokenize():
    assert said("completes a keyword") == ["mport", "ef", "f", "eturn", "eturn"]
    assert said("closes a bracket") == [")", ")"]
    assert said("colon of a block") == [":"]
    assert said("in a comment") == ["# not"]
    assert said("in a builtin name") == ["max"]
    assert said("in a name that is defined") == ["area"]
    assert said("in an attribute") == ["curdir"]


def test_statements_are_told_by_the_syntax_tree():
    assert "".join(said("in a docstring")) == '""Doc"""    """Say"""'.replace("    ", "")
    assert said("in an import") == ["import os"]


def test_names_are_seen_before_within_their_window_alone():
    assert said("in a name seen before") == ["width", "width", "height", "os"]
    start = TEXT.index("if width")
    assert said("in a name seen before", start) == ["width"]


def test_depth_is_that_of_blocks_and_brackets():
    assert said("block of depth 2")[0].strip() == "return width * max(height, 1)"
    assert said("1 brackets deep") == ["width, height", "height, 1"]
    assert [len(one) for one in said("indentation")] == [4, 4, 8, 4]
