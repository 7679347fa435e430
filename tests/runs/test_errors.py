"""What is advised about an error of the file system is about that error."""

import errno
import os

import pytest

from quantascope.runs import files
from quantascope.runs.errors import StorageFailed, storage_remedy
from quantascope.runs.files import write_bytes

ADVICE = {
    errno.ENOSPC: "space",
    errno.EDQUOT: "space",
    errno.EACCES: "permissions",
    errno.EPERM: "permissions",
    errno.EROFS: "cannot be changed",
    errno.EMFILE: "open files",
    errno.ENAMETOOLONG: "shorter",
    errno.ENOENT: "existing folder",
    errno.EIO: "disk",
}


@pytest.mark.parametrize(("number", "about"), ADVICE.items(), ids=lambda value: str(value))
def test_advice_is_about_what_the_system_says(number, about):
    assert about in storage_remedy(OSError(number, os.strerror(number)))


def test_only_a_full_disk_is_advised_to_be_freed():
    full = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    assert {number for number in errno.errorcode if "free space" in storage_remedy(OSError(number, ""))} == full


def test_a_file_that_cannot_be_written_is_told_with_its_own_remedy(tmp_path, monkeypatch):
    def too_many(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(files.os, "fsync", too_many)
    with pytest.raises(StorageFailed, match=r"Too many open files; close other programs"):
        write_bytes(tmp_path / "a", b"x")


def test_a_name_that_is_too_long_is_to_be_shortened(tmp_path):
    with pytest.raises(StorageFailed, match=r"use a shorter name"):
        write_bytes(tmp_path / ("x" * 400), b"x")
