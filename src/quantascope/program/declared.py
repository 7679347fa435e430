"""Finds where a program's file declares its quanta by parsing its text; nothing is executed."""

import ast
from dataclasses import dataclass

from quantascope.runs.errors import InvalidConfig, message_of

LONGEST = 1_000_000
"""Longest file that is parsed, in characters."""


@dataclass(frozen=True)
class Declared:
    """The source text of a quantum, its first line, and its cardinality if that is a literal number."""

    text: str
    line: int
    cardinality: int | None


def declared_quanta(text: str) -> dict[str, Declared]:
    """The quanta that a source text declares, by name.

    >>> text = "@registry.quantum('EVEN', output_cardinality=2)\\ndef even(n):\\n    return n % 2"
    >>> found = declared_quanta(text)
    >>> found["EVEN"].line, found["EVEN"].cardinality
    (1, 2)
    """
    if len(text) > LONGEST:
        raise InvalidConfig(f"a program of {len(text):,} characters is not parsed; the limit is {LONGEST:,}")
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidConfig(f"the program saved in the run is not valid Python ({message_of(error)})") from error
    lines, found = text.splitlines(), dict[str, Declared]()
    for statement in module.body:
        calls = _declarations(statement)
        first = min([statement.lineno, *(call.lineno for call in calls)])
        shown = "\n".join(lines[first - 1 : statement.end_lineno])
        for call in calls:
            name = call.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                found.setdefault(name.value, Declared(shown, first, _cardinality(call)))
    return found


def _declarations(statement: ast.stmt) -> list[ast.Call]:
    """The decorators `….quantum(NAME, …)` of a statement."""
    return [
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "quantum"
        and node.args
    ]


def _cardinality(call: ast.Call) -> int | None:
    for keyword in call.keywords:
        if keyword.arg == "output_cardinality" and isinstance(keyword.value, ast.Constant):
            return keyword.value.value if isinstance(keyword.value.value, int) else None
    return None
