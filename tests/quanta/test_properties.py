"""Property tables: columns in words."""

import numpy as np
import pytest

from quantascope.quanta.properties import Properties
from quantascope.runs.errors import InvalidConfig


def test_columns_become_atoms_in_the_order_of_the_library():
    table = Properties.of(
        {"colour": ["red", "blue", None, "red"], "old": [True, None, False, True], "unused": [1, 2, 3, 4]},
        {"old": "is old", "colour": "is {}"},
        example=[0, 0, 1, 1],
    )
    assert table.names == ("is old", "is red", "is blue")
    np.testing.assert_array_equal(table.values, [[1, 0, 0, 1], [1, 0, 0, 1], [0, 1, 0, 0]])
    assert len(table) == 3
    assert table.events == 4
    np.testing.assert_array_equal(table.chosen(["is blue"]).values, [[0, 1, 0, 0]])


def test_a_column_without_values_gives_no_atom_and_none_is_not_true():
    table = Properties.of({"a": [None, None], "b": [None, None]}, {"a": "a is {}", "b": "b"}, example=[0, 1])
    assert table.names == ("b",)
    assert not table.values.any()


def test_tables_cannot_be_changed():
    table = Properties.of({"a": [True]}, {"a": "a"}, example=[0])
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = False


@pytest.mark.parametrize(
    ("columns", "library", "complaint"),
    [
        ({"a": [True, False]}, {"b": "b"}, "there is no column 'b' of the library; there are a"),
        ({"a": [True]}, {"a": "a"}, "column 'a' has 1 values for 2 events"),
        ({"a": ["x", "y"]}, {"a": "a"}, "column 'a' is not Boolean; put {} into its phrase 'a'"),
        ({"a": [True, False], "b": [True, True]}, {"a": "same", "b": "same"}, "two atoms are named 'same'"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(columns, library, complaint):
    with pytest.raises(InvalidConfig, match=complaint):
        Properties.of(columns, library, example=[0, 1])


def test_a_table_needs_events_names_and_known_atoms():
    with pytest.raises(InvalidConfig, match="without events"):
        Properties.of({"a": []}, {"a": "a"}, example=[])
    with pytest.raises(InvalidConfig, match="1 names for 2 atoms"):
        Properties(("a",), np.ones((2, 3), dtype=bool), np.arange(3))
    with pytest.raises(InvalidConfig, match="there is no property 'b'"):
        Properties.of({"a": [True]}, {"a": "a"}, example=[0]).atom("b")
