"""The pages of the site hang together: every public name, every claim, every page has its place."""

import re
import tomllib
from pathlib import Path

import quantascope
from quantascope.claims import NAMES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_the_reference_has_every_public_name_once():
    named = re.findall(r"^\.\. auto\w+:: quantascope\.(\w+)$", (DOCS / "reference.md").read_text(), re.MULTILINE)
    assert sorted(named) == quantascope.__all__


def test_every_claim_has_a_page_that_says_how_to_reproduce_it():
    pages = {name: DOCS / "findings" / f"{name}.md" for name in NAMES}
    without = [name for name, page in pages.items() if f"quantascope reproduce {name} " not in page.read_text()]
    assert without == []
    entries = tomllib.loads((ROOT / "results" / "paper.toml").read_text())["claim"]
    assert {name: entry["page"] for name, entry in entries.items()} == {
        name: str(page.relative_to(ROOT)) for name, page in pages.items()
    }


def test_every_link_of_the_readme_to_a_file_leads_somewhere():
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        links = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
        assert [link for link in links if not (ROOT / link).exists()] == []
