"""`Opening`: an explorer whose runs are still being opened; the page loads at once, its requests wait."""

import gc
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from quantascope.explorer.request import Request
from quantascope.runs.errors import QuantascopeError

if TYPE_CHECKING:  # the import takes seconds, during which the server already listens
    from quantascope.explorer.explorer import Explorer


UNFINISHED = "the runs could not be opened; the terminal shows more"


class Opening:
    """Answers once the explorer is made; if that fails, every answer is the error."""

    def __init__(self) -> None:
        self._explorer: Future[Explorer] = Future()

    def finish(self, make: "Callable[[], Explorer]") -> None:
        """Make the explorer; errors are also raised here.

        What is imported and read stays, so it is not searched for garbage.
        """
        collecting = gc.isenabled()
        gc.disable()
        try:
            made = make()
            gc.freeze()
            self._explorer.set_result(made)
        except BaseException as error:
            known = isinstance(error, QuantascopeError)
            self._explorer.set_exception(error if known else QuantascopeError(UNFINISHED))
            raise
        finally:
            if collecting:
                gc.enable()

    def answer(self, asked: Request) -> Any:
        """The answer to a request."""
        return self._explorer.result().answer(asked)
