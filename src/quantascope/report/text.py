"""Makes text from users or files safe for terminals, tables, figures, documents and errors.

plain   one short line, such as a token: in tables and figures
shown   any text, with its lines: what `say` prints and tables hold
cell    a cell of a Markdown table

All of them remove control characters: escape sequences, changes of direction, lone surrogates.
"""

import sys
import unicodedata

from quantascope.runs.errors import one_line

MOST = 60
LONGEST_ERROR = 2000
_SIGNS = {"\t": "⇥", "\n": "⏎", "Ġ": "␣", "▁": "␣", "Ċ": "⏎", "$": r"\$"}
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories of characters that control a terminal, change the writing direction, or break a line."""


def plain(text: str, most: int = MOST) -> str:
    r"""One short line without control characters, and without text that mathtext would parse as a formula.

    Spaces are shown as signs only at the ends, where they would be invisible.

    >>> print(plain("a\tb"), plain("Ġthe"), plain(" of the "), plain("$x$"), plain(""))
    a⇥b ␣the ␣of the␣ \$x\$ ∅
    """
    body = text.strip(" ")
    before, after = text.partition(body)[::2] if body else (text, "")
    shown = f"{'␣' * len(before)}{''.join(map(_sign, body))}{'␣' * len(after)}"
    return (shown if len(shown) <= most else f"{shown[: most - 1]}…") or "∅"


def shown(text: str) -> str:
    r"""Text with its line breaks; other control characters are escaped.

    >>> shown("a\n\x1b[31mb")
    'a\n\\x1b[31mb'
    """
    return "".join(map(_visible, text))


def cell(text: str) -> str:
    r"""Text in a cell of a Markdown table.

    >>> cell("a|b\n<c>")
    'a\\|b &lt;c>'
    """
    return shown(" ".join(text.splitlines())).replace("|", r"\|").replace("<", "&lt;")


def say(text: str, *, aside: bool = False) -> None:
    """Print text; with `aside`, to stderr, for text that is not a command's result."""
    print(shown(text), file=sys.stderr if aside else sys.stdout, flush=aside)


def complain(text: str) -> None:
    """Print an error or a warning as one line."""
    say(f"quantascope: {one_line(text, LONGEST_ERROR)}", aside=True)


def _sign(sign: str) -> str:
    return _SIGNS.get(sign, "�" if unicodedata.category(sign) in _UNSEEN else sign)


def _visible(sign: str) -> str:
    return repr(sign)[1:-1] if sign != "\n" and unicodedata.category(sign) in _UNSEEN else sign
