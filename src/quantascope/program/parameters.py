"""`Parameters`: one value for each parameter of a quantum, however it is called.

Positional or by keyword, with defaults, `*more` (one tuple) and `**named` (one dictionary): the values, and so the
data parents, come out in the order of the declaration.
"""

import inspect
from collections.abc import Callable
from typing import Any, no_type_check

_ORDINARY = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@no_type_check
class Parameters:
    """The parameters of a function; a function without a known signature, such as `max`, accepts anything."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        try:
            self._signature = inspect.signature(function)
        except ValueError:
            self._signature = None
        known = self._signature.parameters.values() if self._signature else ()
        self._ordinary = self._signature is None or all(one.kind in _ORDINARY for one in known)
        self._count = len(known) if self._signature and self._ordinary else None
        self.names = tuple(one.name for one in known)
        self.body: Callable[..., Any] = function if self._ordinary else self._spread
        """The function, called with one value for each parameter."""

    def values(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The value of each parameter of a call."""
        if not named and len(arguments) == self._count:
            return arguments
        if self._signature is None:
            if named:
                raise TypeError(f"has no parameter '{next(iter(named))}'")
            return arguments
        bound = self._signature.bind(*arguments, **named)
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def _spread(self, *values: Any) -> Any:
        assert self._signature is not None, "only a known signature has parameters to spread over"
        bound = inspect.BoundArguments(self._signature, dict(zip(self.names, values, strict=True)))
        return self._function(*bound.args, **bound.kwargs)
