"""The committed page is the one that its sources build; compared without node."""

import hashlib
import json
import re
from pathlib import Path

import quantascope

EXPLORER = Path(quantascope.__file__).parent / "explorer"
SOURCES, BUILT = EXPLORER / "page", EXPLORER / "static" / "index.html"


def sources() -> list[str]:
    files = (file.relative_to(SOURCES).as_posix() for file in SOURCES.rglob("*") if file.is_file())
    return sorted(file for file in files if not file.startswith("node_modules/"))


def test_the_committed_page_is_built_from_the_committed_sources():
    digest = hashlib.sha256()
    for name in sources():
        digest.update(name.encode() + b"\0" + (SOURCES / name).read_bytes() + b"\0")
    marked = re.search(r'<meta name="sources-sha256" content="(\w+)"', BUILT.read_text())
    assert marked
    assert marked[1] == digest.hexdigest(), "the page is older than its sources: run `make page`"


def test_the_page_is_one_file_that_asks_for_nothing_else():
    page = BUILT.read_text()
    assert not re.search(r"<script[^>]*\ssrc=", page)
    assert set(re.findall(r"<link[^>]*\shref=\"([^\"]*)\"", page)) == {"data:,"}
    assert "@import" not in page
    assert not re.search(r"url\((?!['\"]?(data:|#))", page)


def test_the_lock_file_names_no_registry():
    packages = json.loads((SOURCES / "package-lock.json").read_text())["packages"]
    assert all("resolved" not in package for package in packages.values())
    assert all("integrity" in package for name, package in packages.items() if name)
