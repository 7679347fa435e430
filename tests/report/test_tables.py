"""Tables keep every name and number, however narrow the terminal."""

import pytest

from quantascope.report.tables import print_rows


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_no_name_or_number_vanishes_in_a_narrow_terminal(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, as far as the table knows
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    rows = [("READ_HUNDREDS", "128", "0.123", "1,234,567"), ("READ_TENS", "64", "0.456", "7,654,321")]
    print_rows("quanta", ("name", "events", "share", "parameters"), rows)
    said = capsys.readouterr().out
    assert all(cell in said for row in rows for cell in row)
