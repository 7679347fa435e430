"""`when`: the one way to branch on a value."""

from typing import Any, no_type_check

from quantascope.program.place import place_in_program
from quantascope.program.registry import CURRENT, Run
from quantascope.program.violations import EscapedValue


@no_type_check
class when:
    """Guard a branch by the value of a quantum: `with when(value, case) as active: if active: …`.

    Quanta that run inside depend on the guard's value by control. The guard is true only inside its block.
    """

    __slots__ = ("_case", "_holds", "_run", "_value")

    def __init__(self, value: Any, case: Any) -> None:
        self._value, self._case = value, case
        self._holds: bool | None = None
        self._run: Run | None = None

    def __enter__(self) -> "when":
        self._run = CURRENT.get()
        if self._run is None:
            self._holds = bool(self._value == self._case)
        else:
            self._holds = self._run.enter(self, self._value, self._case)
        return self

    def __exit__(self, *_: object) -> None:
        self._holds = None
        if self._run is not None:
            self._run.leave(self)

    def __bool__(self) -> bool:
        if self._holds is None:
            complaint = EscapedValue(
                f"the guard for {self._case!r} decides a branch outside its block at {place_in_program()}",
                "move that branch into the `with when(…)` block",
            )
            if self._run is not None:
                self._run.refuse(complaint)
            raise complaint
        return self._holds
