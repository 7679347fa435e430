"""Artefacts: files that record which configuration made them and whether they are unchanged.

Every artefact carries the hash of its configuration and a digest of its bytes (`seal`); reading checks both.
Formats are JSON, safetensors and parquet, so opening another person's run never executes code.
"""

import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl
import safetensors
import safetensors.torch
import torch
from torch import Tensor

from quantascope.runs.errors import DamagedArtefact, QuantascopeError, RunMismatch, message_of
from quantascope.runs.files import RUN_AGAIN, opened, unreadable, write_bytes
from quantascope.runs.seal import BLANK, PATTERN, check_seal, sealed
from quantascope.runs.structure import check_columns

_ABOUT = "quantascope"
_DIGEST_IN_TABLE = re.compile(rb"digest[\x00-\x1f]{2}(" + PATTERN.encode() + rb")")
"""Name and value are parted by a field's type and the value's length, which no text between them is."""
_READ_AT_ONCE = 1 << 20


def write_json(path: Path, values: Any) -> None:
    """Write values as readable JSON; raises for NaN, which JSON does not have."""
    write_bytes(path, _json(values))


def read_json(path: Path, *, remedy: str = RUN_AGAIN) -> Any:
    """Read any JSON file."""
    with _reading(path, remedy) as file:
        return json.loads(file.read())


def write_record(path: Path, values: Mapping[str, Any], *, made_by: str) -> None:
    """Write named values as JSON with the `hash` of what made them and a digest."""
    write_bytes(path, sealed(_json({"digest": BLANK, **values, "hash": made_by})))


def read_record(path: Path, *, made_by: str | None, remedy: str = RUN_AGAIN) -> dict[str, Any]:
    """The values of a record and their `hash`; `made_by` is the expected hash, or None for any."""
    with _reading(path, remedy) as file:
        data = file.read()
        values = json.loads(data)
        if not isinstance(values, dict):
            raise DamagedArtefact(f"{path} holds no named values; {remedy}")
        digest, found = values.pop("digest", None), values.get("hash")
        if digest is not None or found is not None or made_by is not None:
            check_seal(path, data, digest=digest, remedy=remedy)
        if digest is not None or found is not None:  # older versions wrote some without any
            check_origin(path, found, made_by)
        return values


def write_tensors(path: Path, tensors: Mapping[str, Tensor], *, made_by: str, **about: Any) -> None:
    """Write named tensors with the hash of the config that made them and further facts about them.

    All facts are one entry, since safetensors writes several in no fixed order: equal content is equal bytes.
    """
    metadata = {_ABOUT: json.dumps({"digest": BLANK, "config": made_by, **about})}
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_bytes(path, sealed(safetensors.torch.save(_apart(contiguous), metadata)))


def _apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors, with copies of those that share memory with earlier ones, which safetensors does not accept."""
    first: dict[int, str] = {}
    return {
        name: tensor if first.setdefault(tensor.untyped_storage().data_ptr(), name) == name else tensor.clone()
        for name, tensor in tensors.items()
    }


def read_tensors(
    path: Path, *, made_by: str | None, remedy: str = RUN_AGAIN
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and facts of an artefact; `made_by` is the expected config hash, or None for any."""
    with _reading(path, remedy) as file, safetensors.safe_open(path, framework="pt") as inside:
        about = _facts(path, inside.metadata(), remedy)
        tensors = {name: inside.get_tensor(name) for name in inside.keys()}  # noqa: SIM118
        if about:
            check_seal(path, *_content(file, tensors), digest=about.pop("digest", None), remedy=remedy)
        check_origin(path, about.pop("config", None), made_by)
        return tensors, about


def _content(file: BinaryIO, tensors: Mapping[str, Tensor]) -> list[Any]:
    """All bytes of a file: read at once if small; else its header and its tensors, in the file's order.

    Tensors are parts of the file that is mapped into memory, which the reader of the tensors need not do again.
    """
    size = os.fstat(file.fileno()).st_size
    if size <= _READ_AT_ONCE:
        return [file.read()]
    count = file.read(8)
    header = file.read(int.from_bytes(count, "little"))
    place = {name: about["data_offsets"][0] for name, about in json.loads(header).items() if name in tensors}
    ordered = [tensors[name].reshape(-1) for name in sorted(place, key=place.__getitem__)]
    return [count + header, *(one.view(torch.uint8).numpy().data for one in ordered)]


def read_facts(path: Path, *, remedy: str = RUN_AGAIN) -> dict[str, Any]:
    """Only the facts of a safetensors file; None if quantascope did not write it."""
    with _reading(path, remedy), safetensors.safe_open(path, framework="pt") as inside:
        return _facts(path, inside.metadata(), remedy)


def _facts(path: Path, metadata: Mapping[str, str] | None, remedy: str) -> dict[str, Any]:
    about = json.loads((metadata or {}).get(_ABOUT, "{}"))
    if not isinstance(about, dict):
        raise DamagedArtefact(f"{path} has facts that are not named; {remedy}")
    return about


def write_table(path: Path, table: pl.DataFrame, *, made_by: str) -> None:
    """Write a table as parquet with the hash of the config that made it."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, metadata={"digest": BLANK, "config": made_by})
    write_bytes(path, sealed(buffer.getvalue(), last=True))


def read_table(
    path: Path,
    *,
    made_by: str | None,
    columns: Mapping[str, str] | None = None,
    sizes: Mapping[str, int] | None = None,
    remedy: str = RUN_AGAIN,
) -> pl.DataFrame:
    """Read a parquet artefact; `made_by` is the expected config hash, or None for any.

    `columns` are those that it must have, in the form of `structure`, and `sizes` the known axes of their rows.
    """
    with _reading(path, remedy) as file:
        data = file.read()
        # Checked before parsing: a damaged table may crash the parser. The last one: a cell may quote a digest.
        digests = _DIGEST_IN_TABLE.findall(data)
        if digests:
            check_seal(path, data, digest=digests[-1].decode(), remedy=remedy)
        about = pl.read_parquet_metadata(io.BytesIO(data))
        if not digests and {"config", "digest"} & about.keys():
            check_seal(path, data, digest=about.get("digest"), remedy=remedy)
        check_origin(path, about.get("config"), made_by)
        table = pl.read_parquet(io.BytesIO(data))
    check_columns(path, table, columns or {}, sizes=sizes, remedy=remedy)
    return table


def check_origin(path: Path, found: Any, expected: str | None) -> None:
    """Raise if quantascope did not write the file or another config made it."""
    if expected is None:
        return
    if found is None:
        raise DamagedArtefact(f"{path} was not written by quantascope; move it away or use another run directory")
    if found != expected:
        raise RunMismatch(
            f"{path} was made by config {found}, not by {expected}; move it away or use another run directory"
        )


def _json(values: Any) -> bytes:
    return (json.dumps(values, indent=2, allow_nan=False) + "\n").encode()


@contextmanager
def _reading(path: Path, remedy: str) -> Iterator[BinaryIO]:
    """Context manager that opens a file and turns parser errors into one-line errors."""
    with opened(path, remedy) as file:
        try:
            yield file
        except QuantascopeError:
            raise
        except OSError as error:
            raise unreadable(path, error) from error
        except (
            safetensors.SafetensorError,
            pl.exceptions.PolarsError,
            pl.exceptions.PanicException,
            ValueError,
            RecursionError,
        ) as error:
            reason = message_of(error) or type(error).__name__
            raise DamagedArtefact(f"{path} is damaged or foreign ({reason}); {remedy}") from error
