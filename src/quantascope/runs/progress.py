"""`Progress`: the callback with which a long computation reports its progress."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Progress(Protocol):
    """Called a few times a second with steps taken, the latest loss and, where counted, what is acquired."""

    def __call__(self, step: int, loss: float, acquired: int | None = None) -> None: ...
