"""Files that are whole or absent, and that say which configuration made them.

Every artefact is written to a temporary name, synced and renamed, so that a killed process leaves the old file
or the new one. Each carries the hash of its config; reading checks it. The formats are JSON, safetensors and
parquet: opening somebody else's run never executes code.
"""

import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import safetensors
import safetensors.torch
from torch import Tensor

from quantascope.runs.errors import DamagedArtefact, RunMismatch, StorageFailed

_ABOUT = "quantascope"
RUN_AGAIN = "remove it and run again"


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file's content atomically and durably."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with _storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        _sync_folder(path.parent)


def remove_partials(folder: Path) -> None:
    """Remove what killed processes left half written in a folder that nobody else writes."""
    for partial in folder.glob(".*.partial"):
        partial.unlink(missing_ok=True)


def write_json(path: Path, values: Any) -> None:
    """Write values as readable JSON; NaN has no place in JSON and is refused."""
    write_bytes(path, (json.dumps(values, indent=2, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    with _readable(path):
        return json.loads(path.read_bytes())


def write_tensors(path: Path, tensors: Mapping[str, Tensor], *, made_by: str, **about: Any) -> None:
    """Write named tensors with the hash of the config that made them and further facts about them.

    All facts are one entry, since safetensors writes several in no fixed order: equal content is equal bytes.
    """
    metadata = {_ABOUT: json.dumps({"config": made_by, **about})}
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_bytes(path, safetensors.torch.save(_apart(contiguous), metadata))


def _apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies of those that are in the memory of others before them, such as slices, which safetensors refuses."""
    first: dict[int, str] = {}
    return {
        name: tensor if first.setdefault(tensor.untyped_storage().data_ptr(), name) == name else tensor.clone()
        for name, tensor in tensors.items()
    }


def read_tensors(
    path: Path, *, made_by: str | None, remedy: str = RUN_AGAIN
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and facts of an artefact; `made_by` is the expected config hash, or None for any."""
    with _readable(path, remedy), safetensors.safe_open(path, framework="pt") as file:
        about = json.loads((file.metadata() or {}).get(_ABOUT, "{}"))
        check_origin(path, about.pop("config", None), made_by)
        return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118


def read_facts(path: Path, *, remedy: str = RUN_AGAIN) -> dict[str, Any]:
    """The facts about a safetensors file alone; none if quantascope did not write it."""
    with _readable(path, remedy), safetensors.safe_open(path, framework="pt") as file:
        return json.loads((file.metadata() or {}).get(_ABOUT, "{}"))


def write_table(path: Path, table: pl.DataFrame, *, made_by: str) -> None:
    """Write a table as parquet with the hash of the config that made it."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, metadata={"config": made_by})
    write_bytes(path, buffer.getvalue())


def read_table(path: Path, *, made_by: str | None) -> pl.DataFrame:
    """Read a parquet artefact; `made_by` is the expected config hash, or None for any."""
    with _readable(path):
        data = path.read_bytes()
        check_origin(path, pl.read_parquet_metadata(io.BytesIO(data)).get("config"), made_by)
        return pl.read_parquet(io.BytesIO(data))


def check_origin(path: Path, found: str | None, expected: str | None) -> None:
    """Refuse a file that quantascope did not write or that another config made."""
    if expected is None:
        return
    if found is None:
        raise DamagedArtefact(f"{path} was not written by quantascope; remove it or use another run directory")
    if found != expected:
        raise RunMismatch(
            f"{path} was made by config {found}, not by {expected}; remove it or use another run directory"
        )


@contextmanager
def _storage(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFailed(
            f"cannot write {path}: {error.strerror or error}; free space, mend permissions, or write elsewhere"
        ) from error


@contextmanager
def _readable(path: Path, remedy: str = RUN_AGAIN) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        instead = "run the command that makes it again" if remedy == RUN_AGAIN else remedy
        raise DamagedArtefact(f"{path} is missing; {instead}") from None
    except (safetensors.SafetensorError, pl.exceptions.PolarsError, ValueError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DamagedArtefact(f"{path} is damaged or foreign ({reason}); {remedy}") from error


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
