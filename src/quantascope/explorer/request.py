"""`Request`: a browser's request with few, short and known parameters; anything else is an error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote_plus, urlsplit

from quantascope.runs.errors import InvalidConfig, QuantascopeError, one_line

PREFIX = "/api/"
LONGEST_TARGET = 16_384
LONGEST_TEXT = 2000
MOST_LINES = 8
MOST_PARAMETERS = 8
FARTHEST = 10**12


class UnknownAddress(QuantascopeError):
    """An unknown address."""


@dataclass(frozen=True)
class Request:
    """A path below /api/ and its parameters.

    >>> asked = Request.of("/api/runs/0/trace?input=12%2B3")
    >>> asked.path, asked.text("input"), asked.target
    ('runs/0/trace', '12+3', '/api/runs/0/trace?input=12%2B3')
    """

    path: str
    parameters: Mapping[str, str]

    @classmethod
    def of(cls, target: str) -> "Request":
        """Parse an address; each parameter must be given once."""
        if len(target) > LONGEST_TARGET:
            raise InvalidConfig(f"an address of {len(target):,} characters is too long; request less at once")
        parts = urlsplit(target)
        if not parts.path.startswith(PREFIX):
            raise UnknownAddress(f"there is nothing at {one_line(parts.path)}")
        try:
            given = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=MOST_PARAMETERS, errors="strict")
        except ValueError as error:
            raise InvalidConfig("the parameters of the address are not UTF-8, or too many") from error
        if len({name for name, _ in given}) < len(given):
            raise InvalidConfig("a parameter is given twice; give each once")
        return cls(parts.path.removeprefix(PREFIX), dict(given))

    @property
    def target(self) -> str:
        """The address as a browser writes it, with parameters sorted by name."""
        pairs = [f"{_encoded(name)}={_encoded(text)}" for name, text in sorted(self.parameters.items())]
        return PREFIX + self.path + ("?" + "&".join(pairs) if pairs else "")

    def only(self, names: Sequence[str]) -> None:
        """Raise for unknown parameters."""
        for name in self.parameters:
            if name not in names:
                known = ", ".join(names) or "none"
                raise InvalidConfig(f"there is no parameter '{one_line(name, 60)}' here; there are {known}")

    def text(self, name: str, default: str | None = None, longest: int = LONGEST_TEXT) -> str:
        """A parameter as a non-empty text."""
        found = self.parameters.get(name) or default
        if not found:
            raise InvalidConfig(f"the parameter '{name}' is missing; give it")
        if len(found) > longest:
            raise InvalidConfig(f"'{name}' has {len(found):,} characters; give at most {longest:,}")
        return found

    def one_of(self, name: str, choices: Sequence[str], default: str | None = None) -> str:
        """A parameter as one of the known words."""
        found = self.text(name, default)
        if found not in choices:
            known = ", ".join(choices[:8]) + (", …" if len(choices) > 8 else "")
            raise InvalidConfig(f"there is no {name} '{one_line(found, 60)}'; there are {known or 'none'}")
        return found

    def number(self, name: str, default: int | None = None) -> int:
        """A parameter as a nonnegative integer."""
        found = self.text(name, None if default is None else str(default))
        if not (found.isascii() and found.isdecimal()) or len(found) > 13 or int(found) > FARTHEST:
            raise InvalidConfig(f"'{name}' is '{one_line(found, 60)}'; give a whole number")
        return int(found)

    def lines(self, name: str) -> list[str]:
        """A parameter as a few distinct lines of text."""
        found = list(
            dict.fromkeys(
                line.strip() for line in self.text(name, longest=4 * LONGEST_TEXT).split("\n") if line.strip()
            )
        )
        if not 1 <= len(found) <= MOST_LINES:
            raise InvalidConfig(f"'{name}' has {len(found)} lines; give 1 to {MOST_LINES}")
        return found


def _encoded(text: str) -> str:
    """Encode like URLSearchParams."""
    return quote_plus(text, safe="*").replace("~", "%7E")
