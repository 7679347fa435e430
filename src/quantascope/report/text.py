"""Text of a user's or of a file as it may stand in a terminal, a figure or a table."""

import unicodedata

MOST = 60
_SIGNS = {"\t": "⇥", "\n": "⏎", "Ġ": "␣", "▁": "␣", "Ċ": "⏎", "$": r"\$"}
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories of signs that steer a terminal, turn the direction of writing, or break a line."""


def plain(text: str, most: int = MOST) -> str:
    r"""One short line without control characters, and without what mathtext would take for a formula.

    Spaces are signs of their own only at the ends, where nobody would see them.

    >>> print(plain("a\tb"), plain("Ġthe"), plain(" of the "), plain("$x$"), plain(""))
    a⇥b ␣the ␣of the␣ \$x\$ ∅
    """
    body = text.strip(" ")
    before, after = text.partition(body)[::2] if body else (text, "")
    shown = f"{'␣' * len(before)}{''.join(map(_sign, body))}{'␣' * len(after)}"
    return (shown if len(shown) <= most else f"{shown[: most - 1]}…") or "∅"


def _sign(sign: str) -> str:
    return _SIGNS.get(sign, "�" if unicodedata.category(sign) in _UNSEEN else sign)
