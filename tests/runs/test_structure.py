"""Columns of tables have the kind, the shape and the names that their reader expects."""

import polars as pl
import pytest

from quantascope.runs.artefact import read_table, write_table
from quantascope.runs.errors import DamagedArtefact

WHOLE = pl.DataFrame(
    {
        "step": [0, 5],
        "loss": [[1.0, 2.0], [0.5, 1.0]],
        "unit": ["a", "b"],
        "f1": [0.5, None],
        "tells": [True, False],
    },
    schema_overrides={"loss": pl.Array(pl.Float32, 2)},
)
COLUMNS = {"step": "int", "loss": "float tasks", "unit": "text", "f1": "float?", "tells": "bool"}


def test_a_whole_table_is_read_as_it_was_written(tmp_path):
    write_table(tmp_path / "table", WHOLE, made_by="one")
    found = read_table(tmp_path / "table", made_by="one", columns=COLUMNS, sizes={"tasks": 2})
    assert found.equals(WHOLE)


def test_an_optional_column_may_be_empty_throughout(tmp_path):
    write_table(tmp_path / "table", WHOLE.with_columns(f1=None), made_by="one")
    assert read_table(tmp_path / "table", made_by="one", columns=COLUMNS)["f1"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"step": ["0", "5"]}, r"column 'step' is String, not int"),
        ({"step": [0.0, 5.0]}, r"column 'step' is Float64, not int"),
        ({"step": [None, 5]}, r"column 'step' has empty cells"),
        ({"step": [None, None]}, r"column 'step' is Null, not int"),
        ({"loss": [1.0, 2.0]}, r"column 'loss' is Float64, not float \[tasks = 2\]"),
        ({"loss": [[1.0, 2.0], [1.0]]}, r"column 'loss' is List\(Float64\), not float \[tasks = 2\]"),
        ({"unit": [["a"], ["b"]]}, r"column 'unit' is List\(String\), not text"),
        ({"unit": [{"a": 1}, {"a": 2}]}, r"column 'unit' is Struct\(.*\), not text"),
        ({"unit": ["a", None]}, r"column 'unit' has empty cells"),
        ({"f1": ["a", "b"]}, r"column 'f1' is String, not float\?"),
        ({"tells": [1, 0]}, r"column 'tells' is Int64, not bool"),
    ],
)
def test_a_column_of_another_kind_is_refused_by_name(tmp_path, change, says):
    write_table(tmp_path / "table", WHOLE.with_columns(pl.Series(*next(iter(change.items())))), made_by="one")
    with pytest.raises(DamagedArtefact, match=f"table: {says}; "):
        read_table(tmp_path / "table", made_by="one", columns=COLUMNS, sizes={"tasks": 2})


def test_a_column_of_another_length_or_none_is_refused_by_name(tmp_path):
    write_table(tmp_path / "table", WHOLE.drop("unit"), made_by="one")
    with pytest.raises(DamagedArtefact, match=r"column 'loss' is Array.*, not float \[tasks = 3\]"):
        read_table(tmp_path / "table", made_by="one", columns=COLUMNS, sizes={"tasks": 3})
    with pytest.raises(DamagedArtefact, match="has no column 'unit'"):
        read_table(tmp_path / "table", made_by="one", columns=COLUMNS)


def test_axes_of_one_name_have_one_length(tmp_path):
    table = pl.DataFrame(
        {"loss": [[1.0, 2.0]], "coefficient": [[1.0]]},
        schema={"loss": pl.Array(pl.Float32, 2), "coefficient": pl.Array(pl.Float32, 1)},
    )
    write_table(tmp_path / "table", table, made_by="one")
    with pytest.raises(DamagedArtefact, match=r"'coefficient' is Array.*, not float \[tasks = 2\]"):
        read_table(
            tmp_path / "table", made_by="one", columns={"loss": "float tasks", "coefficient": "float tasks"}
        )
