"""`State`: what a program sees when it writes its next token."""

from typing import Any, NamedTuple

_LONGEST_SHOWN = 60


class State(NamedTuple):
    """An input and the tokens that were already written for it.

    >>> State(42, ("forty",)).position
    1
    """

    source: Any
    written: tuple[str, ...] = ()

    @property
    def position(self) -> int:
        """How many tokens were written."""
        return len(self.written)

    def then(self, token: str) -> "State":
        """The state after one more token."""
        return State(self.source, (*self.written, token))

    def __str__(self) -> str:
        shown = repr(self.source)
        if len(shown) > _LONGEST_SHOWN:
            shown = shown[: _LONGEST_SHOWN - 1] + "…"
        return f"input {shown}" + (f" after '{' '.join(map(str, self.written))}'" if self.written else "")
