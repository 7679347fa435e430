"""A digest finds every changed byte, in every format; origin and structure are checked too."""

import io
import zlib

import polars as pl
import pytest
import safetensors.torch
import torch

from quantascope.runs import seal
from quantascope.runs.accuracy import read_accuracy, write_accuracy
from quantascope.runs.artefact import (
    read_record,
    read_table,
    read_tensors,
    write_json,
    write_record,
    write_table,
    write_tensors,
)
from quantascope.runs.errors import DamagedArtefact, RunMismatch
from quantascope.runs.structure import check_tensors

FORMATS = {
    "a.json": lambda file: read_record(file, made_by="h"),
    "a.safetensors": lambda file: read_tensors(file, made_by="h"),
    "a.parquet": lambda file: read_table(file, made_by="h"),
}


@pytest.fixture
def folder(tmp_path):
    write_record(tmp_path / "a.json", {"x": 1.5, "name": "some"}, made_by="h")
    write_tensors(tmp_path / "a.safetensors", {"x": torch.arange(5.0)}, made_by="h", step=3)
    write_table(tmp_path / "a.parquet", pl.DataFrame({"x": [1.0, 2.0], "y": ["a", "b"]}), made_by="h")
    return tmp_path


@pytest.mark.parametrize("name", FORMATS)
def test_every_flipped_bit_is_refused(folder, name):
    file = folder / name
    whole = file.read_bytes()
    FORMATS[name](file)
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        with pytest.raises((DamagedArtefact, RunMismatch)) as told:
            FORMATS[name](file)
        assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", FORMATS)
def test_an_artefact_of_an_older_version_is_read_with_one_warning_for_all(folder, name, monkeypatch):
    monkeypatch.setattr(seal, "_told", [])
    write_json(folder / "a.json", {"x": 1.5, "hash": "h"})
    facts = {"quantascope": '{"config": "h", "step": 3}'}
    (folder / "a.safetensors").write_bytes(safetensors.torch.save({"x": torch.zeros(1)}, facts))
    buffer = io.BytesIO()
    pl.DataFrame({"x": [1.0]}).write_parquet(buffer, metadata={"config": "h"})
    (folder / "a.parquet").write_bytes(buffer.getvalue())
    with pytest.warns(UserWarning, match=f"{name} has no digest, like files of older versions"):
        FORMATS[name](folder / name)
    for other, read in FORMATS.items():
        read(folder / other)  # warnings are errors here


def test_a_digest_of_the_kind_of_older_versions_is_checked_too(tmp_path):
    blank = b'{"digest": "crc32:00000000", "x": 1, "hash": "h"}'
    whole = blank.replace(b"crc32:00000000", f"crc32:{zlib.crc32(blank):08x}".encode())
    (tmp_path / "a.json").write_bytes(whole)
    assert read_record(tmp_path / "a.json", made_by="h") == {"x": 1, "hash": "h"}
    (tmp_path / "a.json").write_bytes(whole.replace(b": 1,", b": 2,"))
    with pytest.raises(DamagedArtefact, match="do not match their digest"):
        read_record(tmp_path / "a.json", made_by="h")


@pytest.mark.parametrize("quoted", [seal.BLANK, f"digest: {seal.BLANK}", "digest: crc32:0123abcd", "crc32:"])
def test_a_cell_that_quotes_a_digest_is_a_cell_like_any_other(tmp_path, quoted):
    table = pl.DataFrame({"said": [quoted, f"digest {quoted}"]})
    write_table(tmp_path / "a.parquet", table, made_by="h")
    assert read_table(tmp_path / "a.parquet", made_by="h").equals(table)


def test_a_cell_of_somebody_elses_table_that_quotes_a_digest_is_no_digest(tmp_path):
    table = pl.DataFrame({"said": [f"digest: {seal.BLANK}", f"digest, {seal.BLANK}"]})
    table.write_parquet(tmp_path / "a.parquet", compression="uncompressed")
    assert read_table(tmp_path / "a.parquet", made_by=None).equals(table)


@pytest.fixture
def large(tmp_path):
    """A file that is not read at once, of tensors whose order by name is not that in the file."""
    kinds = {"b": torch.float16, "a": torch.float64, "c": torch.bfloat16, "d": torch.bool, "e": torch.int64}
    tensors = {name: torch.arange(100_000).to(kind) for name, kind in kinds.items()}
    tensors |= {"scalar": torch.tensor(3.0), "empty": torch.zeros(0, 4), "matrix": torch.ones(3, 5)}
    write_tensors(tmp_path / "a.safetensors", tensors, made_by="h")
    found, _ = read_tensors(tmp_path / "a.safetensors", made_by="h")
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    return tmp_path / "a.safetensors"


def test_a_flipped_bit_anywhere_in_a_large_file_is_refused(large):
    whole = large.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    every = [*range(0, start, 7), *range(start, len(whole), 10_007), len(whole) - 1]
    for at in every:
        large.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        with pytest.raises((DamagedArtefact, RunMismatch)):
            read_tensors(large, made_by="h")


def test_exchanged_blocks_of_a_large_file_are_refused(large):
    whole = large.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    one, other, rest = whole[start : start + 4096], whole[start + 4096 : start + 8192], whole[start + 8192 :]
    large.write_bytes(whole[:start] + other + one + rest)
    with pytest.raises(DamagedArtefact, match="do not match their digest"):
        read_tensors(large, made_by="h")


def test_files_of_others_need_no_digest(tmp_path):
    safetensors.torch.save_file({"x": torch.zeros(1)}, tmp_path / "model.safetensors", {"format": "pt"})
    assert read_tensors(tmp_path / "model.safetensors", made_by=None)[1] == {}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[" * 100_000, "damaged or foreign"),
        (b"[1]", "holds no named values"),
        (b"null", "holds no named values"),
        (b'{"digest": 3}', "do not match their digest"),
        (b'{"digest": "crc32:00000000", "hash": "h"}', "do not match their digest"),
        (b'{"digest": "xxh3-64:0000000000000000", "hash": "h"}', "do not match their digest"),
        (b'{"digest": "md5:00000000", "hash": "h"}', "do not match their digest"),
    ],
)
def test_records_that_are_none_are_refused_in_one_line(tmp_path, content, says):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(DamagedArtefact, match=says) as told:
        read_record(tmp_path / "a.json", made_by="h")
    assert len(str(told.value)) < 500 + len(str(tmp_path))


def test_facts_that_are_no_mapping_are_refused(tmp_path):
    data = safetensors.torch.save({"x": torch.zeros(1)}, {"quantascope": "[1, 2]"})
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(DamagedArtefact, match="facts that are not named"):
        read_tensors(tmp_path / "a", made_by=None)


def test_accuracy_is_that_of_its_run_and_of_numbers(tmp_path):
    write_accuracy(tmp_path / "accuracy.json", {"test_exact": 0.5}, made_by="one")
    assert read_accuracy(tmp_path / "accuracy.json", made_by="one") == {"test_exact": 0.5}
    with pytest.raises(RunMismatch, match="made by config one, not by two"):
        read_accuracy(tmp_path / "accuracy.json", made_by="two")
    for value in ("much", True, None, [1], -1, 1.01, 10**30):
        write_record(tmp_path / "accuracy.json", {"test_exact": value}, made_by="one")
        with pytest.raises(DamagedArtefact, match="'test_exact' is not a share from 0 to 1"):
            read_accuracy(tmp_path / "accuracy.json", made_by="one")


@pytest.mark.parametrize(
    ("tensors", "says"),
    [
        ({"a": torch.zeros(2, 3)}, "no tensor 'b'"),
        ({"a": torch.zeros(2, 3), "b": torch.zeros(3), "c": torch.zeros(1)}, "an unexpected tensor 'c'"),
        ({"a": torch.zeros(2, 3), "b": torch.zeros(2)}, r"'b' is float \[2\], not float \[columns = 3\]"),
        ({"a": torch.zeros(4, 3), "b": torch.zeros(3)}, r"'a' is float \[4, 3\], not float \[rows = 2, columns"),
        ({"a": torch.zeros(2, 3, dtype=torch.int64), "b": torch.zeros(3)}, r"'a' is int \[2, 3\], not float"),
        ({"a": torch.full((2, 3), torch.inf), "b": torch.zeros(3)}, "'a' has values that are not finite"),
    ],
)
def test_tensors_of_another_structure_are_named(tmp_path, tensors, says):
    form = {"a": "float rows columns", "b": "float columns"}
    with pytest.raises(DamagedArtefact, match=says):
        check_tensors(tmp_path / "f", tensors, form, sizes={"rows": 2})
    check_tensors(tmp_path / "f", {"a": torch.zeros(2, 3), "b": torch.zeros(3)}, form, sizes={"rows": 2})
