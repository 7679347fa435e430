"""What can be said about a byte of Python source: what it is a part of, by `tokenize` and `ast`."""

import ast
import builtins
import io
import keyword
import tokenize
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from quantascope.quanta.properties import Properties
from quantascope.tasks.code.corpus import Place

LIBRARY = {
    "kind": "in {}",
    "docstring": "in a docstring",
    "import": "in an import",
    "begins": "begins a token",
    "keyword rest": "completes a keyword",
    "name rest": "continues a name",
    "seen": "in a name seen before",
    "seen rest": "continues a name seen before",
    "defined": "in a name that is defined",
    "builtin": "in a builtin name",
    "attribute": "in an attribute",
    "opens": "opens a bracket",
    "closes": "closes a bracket",
    "end of line": "end of line",
    "after line": "first of a line",
    "colon": "colon of a block",
    "indentation": "indentation",
    "syntax": "given by syntax",
    "free": "a new name or free text",
    "depth": "block of depth {}",
    "brackets": "{} brackets deep",
    "class": "writes {}",
    "class before": "after {}",
    "byte": "writes the byte {}",
    "previous": "after the byte {}",
}
"""Columns in words; of two properties that hold in the same events, the first one is used."""
PROBES = (
    "in a docstring", "completes a keyword", "continues a name", "continues a name seen before", "in an attribute",
    "opens a bracket", "closes a bracket", "end of line", "first of a line", "indentation", "colon of a block",
    "given by syntax",
)  # fmt: skip
"""Properties for which the best single detector is reported."""
_BUILTINS = frozenset(dir(builtins))
_DEEPEST = 3
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

Row = dict[str, Any]


def code_properties(windows: Sequence[tuple[str, Place, int]]) -> Properties:
    """The property table of the predicted bytes of windows, each given by its file's text, offset and length."""
    rows = [(number, row) for number, one in enumerate(windows) for row in _events(*one)]
    columns = {column: [row.get(column) for _, row in rows] for column in LIBRARY}
    return Properties.of(columns, LIBRARY, example=[number for number, _ in rows])


def _events(text: str, place: Place, length: int) -> Iterator[Row]:
    """The rows of a window; a name is seen before if the window has it earlier."""
    rows, names = read_source(text)
    inside = [one for one in names if one[1] > place.offset and one[0] < place.offset + length]
    earlier = set[str]()
    seen = dict[int, bool]()
    for start, stop, name in inside:
        seen |= dict.fromkeys(range(start, stop), name in earlier)
        if start >= place.offset:
            earlier.add(name)
    for at in range(place.offset + 1, place.offset + length):
        row, known = rows[at], seen.get(at, False)
        free = row["free"] and not known
        yield {**row, "seen": known, "seen rest": known and row["name rest"], "free": free}


@lru_cache(maxsize=64)
def read_source(text: str) -> tuple[tuple[Row, ...], tuple[tuple[int, int, str], ...]]:
    """What each character is a part of, and where each name stands.

    >>> rows, names = read_source("def f(x):\\n    return x\\n")
    >>> names
    ((4, 5, 'f'), (6, 7, 'x'), (21, 22, 'x'))
    >>> "".join(char for char, row in zip("def f(x):\\n    return x\\n", rows) if row["keyword rest"])
    'efeturn'
    """
    starts = _line_starts(text)
    rows: list[Row] = [_row(text, at) for at in range(len(text))]
    names: list[tuple[int, int, str]] = []
    depth = brackets = 0
    before = tokenize.TokenInfo(tokenize.ENCODING, "", (0, 0), (0, 0), "")
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        start, stop = (min(starts[row - 1] + column, len(text)) for row, column in (token.start, token.end))
        _mark(rows, last, start, {"depth": min(depth, _DEEPEST), "brackets": min(brackets, _DEEPEST)})
        depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
        brackets -= token.type == tokenize.OP and token.string in ")]}"
        columns = _of_token(token, before)
        _mark(rows, start, stop, {**columns, "depth": min(depth, _DEEPEST), "brackets": min(brackets, _DEEPEST)})
        if columns.get("kind") == "a name":
            names.append((start, stop, token.string))
        if start < stop and columns:
            rows[start] |= {"begins": True, "keyword rest": False, "name rest": False}
        brackets += token.type == tokenize.OP and token.string in "([{"
        last = max(last, stop)
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = token
    _mark_statements(rows, ast.parse(text), starts)
    for row in rows:
        text_of_its_own = row["kind"] in ("a string", "a comment")
        by_kind = row["kind"] in ("an operator", "indentation")
        row["syntax"] = row["keyword rest"] or by_kind or (row["end of line"] and not text_of_its_own)
        row["free"] = text_of_its_own or row["kind"] == "a name"
    return tuple(rows), tuple(names)


def _row(text: str, at: int) -> Row:
    char, previous = text[at], text[at - 1 : at] if at else ""
    flags = dict.fromkeys((column for column, says in LIBRARY.items() if "{}" not in says), False)
    return {
        **flags,
        "kind": "white space",
        "end of line": char == "\n",
        "after line": previous == "\n",
        "byte": _shown(char),
        "previous": _shown(previous) if previous else None,
        "class": _class(char),
        "class before": _class(previous) if previous else None,
    }


def _of_token(token: tokenize.TokenInfo, before: tokenize.TokenInfo) -> Row:
    """The columns of a token's characters; none for tokens without any."""
    if token.type == tokenize.NAME:
        if keyword.iskeyword(token.string):
            return {"kind": "a keyword", "keyword rest": True}
        return {
            "kind": "a name",
            "name rest": True,
            "defined": before.string in ("def", "class"),
            "attribute": before.string == ".",
            "builtin": token.string in _BUILTINS and before.string != ".",
        }
    if token.type == tokenize.OP:
        return {
            "kind": "an operator",
            "opens": token.string in "([{",
            "closes": token.string in ")]}",
            "colon": token.string == ":" and token.end[1] == len(token.line.rstrip()),
        }
    return _KINDS.get(token.type, {})


_KINDS: dict[int, Row] = {
    tokenize.NUMBER: {"kind": "a number"},
    tokenize.STRING: {"kind": "a string"},
    tokenize.COMMENT: {"kind": "a comment"},
    tokenize.INDENT: {"kind": "indentation", "indentation": True},
    **{
        getattr(tokenize, name): {"kind": "a string"}
        for name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
        if hasattr(tokenize, name)
    },
}


def _mark(rows: list[Row], start: int, stop: int, columns: Row) -> None:
    for row in rows[start:stop]:
        row |= columns


def _mark_statements(rows: list[Row], tree: ast.AST, starts: Sequence[int]) -> None:
    """Docstrings and imports, by the syntax tree; and the indentation of every line of code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            _mark(rows, *_span(node, starts), {"import": True})
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            _mark(rows, *_span(node.body[0], starts), {"docstring": True})
    for start in starts:
        at = start
        while (
            at < len(rows) and rows[at]["byte"] == "space" and rows[at]["kind"] in ("white space", "indentation")
        ):
            rows[at] |= {"kind": "indentation", "indentation": True}
            at += 1


def _span(node: ast.stmt, starts: Sequence[int]) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return [*starts, len(text)]


def _shown(char: str) -> str:
    return {" ": "space", "\n": "newline"}.get(char, char)


def _class(char: str) -> str:
    if char.isalpha():
        return "a capital" if char.isupper() else "a letter"
    if char.isdigit():
        return "a digit"
    return {" ": "a space", "\n": "a newline", "_": "an underscore"}.get(char, "a sign")
