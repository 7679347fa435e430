"""`State`: what a program sees when it writes its next token."""

from typing import Any, NamedTuple, no_type_check

_LONGEST_SHOWN = 60


@no_type_check
class State(NamedTuple):
    """An input and the tokens already written for it.

    >>> State(42, ("forty",)).position
    1
    """

    source: Any
    written: tuple[str, ...] = ()

    @property
    def position(self) -> int:
        """Number of tokens written so far."""
        return len(self.written)

    def then(self, token: str) -> "State":
        """The state after writing one more token."""
        return State(self.source, (*self.written, token))

    def __str__(self) -> str:
        written = " ".join(map(str, self.written))
        return f"input {shown(self.source)}" + (f" after '{_shortened(written)}'" if written else "")


def shown(value: Any) -> str:
    """A short readable form of a value, even if its own repr fails."""
    try:
        return _shortened(repr(value))
    except BaseException:
        return object.__repr__(value)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
