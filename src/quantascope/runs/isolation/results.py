"""Serializes the result or the error that a child sends to its parent.

A fork keeps addresses. So objects that the parent has named as shared, and classes that cannot be imported because
they were made in a function or in a session, are sent by address and are the parent's own. A function that cannot
be imported is sent as code if the names of its module are shared.
"""

import io
import marshal
import pickle
import struct
import sys
import traceback
from collections.abc import Mapping
from importlib import import_module
from types import CellType, FunctionType, MappingProxyType, ModuleType
from typing import Any, NamedTuple, no_type_check

from quantascope.runs.errors import QuantascopeError, described

_LENGTH = struct.Struct("!Q")
Shared = Mapping[int, object]
"""Objects of the parent by their address."""


class Unsendable(QuantascopeError):
    """A result that cannot be sent between processes."""


class _Raised(NamedTuple):
    """An error of the child; `note` is the traceback of a defect."""

    kind: type[BaseException]
    text: str
    attributes: dict[str, bytes]
    note: str | None


def sent_result(result: Any, shared: Shared) -> bytes:
    """Serialize a result, and test here, within the limits, that it can be deserialized."""
    try:
        sent = _pickled((None, result), shared)
        _Receiver(io.BytesIO(sent), shared).load()
    except BaseException as error:
        return sent_error(_unsendable(error, "use numbers, strings, tuples, enums or dataclasses"), shared)
    return _LENGTH.pack(len(sent)) + sent


def sent_error(error: BaseException, shared: Shared) -> bytes:
    """Serialize an error: class, text, and attributes; attributes that cannot be sent become None.

    An error that is not a QuantascopeError is a bug in quantascope and includes its traceback.
    """
    if isinstance(error, QuantascopeError):
        attributes = {name: _pickled_or_none(value, shared) for name, value in vars(error).items()}
        raised = _Raised(type(error), str(error), attributes, None)
    else:
        raised = _Raised(RuntimeError, described(error), {}, "".join(traceback.format_exception(error, limit=-20)))
    sent = _pickled((raised, None), shared)
    return _LENGTH.pack(len(sent)) + sent


def can_be_sent(value: Any, shared: Shared) -> bool:
    """Whether a value can be sent to the parent."""
    try:
        sent = _pickled(value, shared)
        _Receiver(io.BytesIO(sent), shared).load()
    except BaseException:
        return False
    return True


def is_whole(received: bytearray) -> bool:
    """Whether everything that was sent has arrived."""
    start = _LENGTH.size
    return len(received) >= start and len(received) >= start + _LENGTH.unpack_from(received)[0]


def received_result(received: bytearray, shared: Shared) -> Any:
    """Deserialize the result; a serialized error is raised."""
    with memoryview(received)[_LENGTH.size :] as sent:
        raised, result = _loaded(sent, shared)
    if raised is None:
        return result
    error = raised.kind.__new__(raised.kind)
    error.args = (raised.text,)
    for name, value in raised.attributes.items():
        setattr(error, name, _loaded(value, shared))
    if raised.note:
        error.add_note(raised.note)
    raise error


def _loaded(sent: Any, shared: Shared) -> Any:
    try:
        return _Receiver(io.BytesIO(sent), shared).load()
    except Exception as error:
        raise _unsendable(error, "declare its class before the program runs") from None


def _unsendable(error: BaseException, remedy: str) -> Unsendable:
    return Unsendable(f"a value of the program cannot be sent between processes, {described(error)}; {remedy}")


def _pickled(value: Any, shared: Shared) -> bytes:
    file = io.BytesIO()
    _Sender(file, shared).dump(value)
    return file.getvalue()


def _pickled_or_none(value: Any, shared: Shared) -> bytes:
    try:
        return _pickled(value, shared)
    except BaseException:
        return _pickled(None, shared)


@no_type_check
class _Sender(pickle.Pickler):
    def __init__(self, file: io.BytesIO, shared: Shared) -> None:
        super().__init__(file, protocol=5)
        self._shared = shared

    def persistent_id(self, one: Any) -> tuple[bool, int] | None:
        """An address, and whether it is that of a class."""
        if id(one) in self._shared:
            return False, id(one)
        if issubclass(type(one), type) and not _is_importable(one):
            return True, id(one)
        return None

    def reducer_override(self, one: Any) -> Any:
        """How a module, a view of a dictionary, or a function that cannot be imported is made again."""
        if type(one) is ModuleType and sys.modules.get(one.__name__) is one:
            return import_module, (one.__name__,)
        if type(one) is MappingProxyType:
            return MappingProxyType, (dict(one),)
        if type(one) is FunctionType and id(one.__globals__) in self._shared and not _is_importable(one):
            held = tuple(cell.cell_contents for cell in one.__closure__ or ())
            made_of = (marshal.dumps(one.__code__), one.__globals__, one.__name__, one.__defaults__, held)
            return _function, (*made_of, one.__kwdefaults__, vars(one))
        return NotImplemented


@no_type_check
def _function(code, names, name, defaults, held, keywords, attributes):
    made = FunctionType(marshal.loads(code), names, name, defaults, tuple(map(CellType, held)))
    made.__kwdefaults__ = keywords
    vars(made).update(attributes)
    return made


@no_type_check
class _Receiver(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, shared: Shared) -> None:
        super().__init__(file)
        self._shared, self._classes = shared, {}

    def persistent_load(self, address: tuple[bool, int]) -> Any:
        """The object or class at an address."""
        is_class, number = address
        if not is_class:
            return self._shared[number]
        self._classes = self._classes or _all_classes()
        if number not in self._classes:
            raise pickle.UnpicklingError("its class is created again in every run")
        return self._classes[number]


def _is_importable(one: type | FunctionType) -> bool:
    package = one.__module__.rpartition(".")[0]
    if package and package not in sys.modules:
        return False
    found: Any = sys.modules.get(one.__module__)
    for name in one.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is one


def _all_classes() -> dict[int, type]:
    found: dict[int, type] = {}
    waiting: list[type] = [object]
    while waiting:
        one = waiting.pop()
        if id(one) not in found:
            found[id(one)] = one
            waiting += type.__subclasses__(one)
    return found
