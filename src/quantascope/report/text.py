"""Text of a user's or of a file as it may stand in a terminal, a figure or a table."""

import unicodedata

MOST = 60


def plain(text: str, most: int = MOST) -> str:
    """One short line without control characters, and without what mathtext would take for a formula.

    >>> plain("a\\tb"), plain("Ġthe"), plain("$x$"), plain("")
    ('a⇥b', '␣the', r'\\$x\\$', '∅')
    """
    signs = {"\t": "⇥", "\n": "⏎", "Ġ": "␣", "▁": "␣", "Ċ": "⏎", " ": "␣", "$": r"\$"}
    shown = "".join(
        signs.get(sign, "�" if unicodedata.category(sign) in ("Cc", "Cf", "Cs") else sign) for sign in text
    )
    return (shown if len(shown) <= most else f"{shown[: most - 1]}…") or "∅"
