"""Quote the committed results in the documentation: `python docs/quote.py` rewrites README.md and the pages here.

A number of a claim or a benchmark is never typed. A page names it, and this script writes it behind the name.

A figure of the claim that the page is named after, of another claim, only its mean, the range of its values, or
what the paper states. No line may begin with one: Markdown would end the paragraph there.

    <!--= spearman_displayed -->−0.700 [−0.729, −0.672]<!--/-->
    <!--= ordering:predicted_signs mean -->7.60<!--/-->
    <!--= spearman_displayed paper -->−0.800<!--/-->

A table in which each row names its figure, here `acquired_exact`:

    | <!-- {row}_exact --> | paper | here | runs |
    |---|---:|---:|---:|
    | <!-- acquired --> tasks acquired | 64 | 62.8 [61.3, 64.3] | 9 |

A grid, whose columns are named as well, and every figure of the claim, once it is published:

    | <!-- {column}_{row} --> | <!-- ce --> alone | <!-- guided --> guided |

    <!-- figures -->
    <!-- /figures -->

What a command prints:

    <!-- scoreboard: quantascope scoreboard --stated --totals -->
    <!-- /scoreboard -->

`FILE:` before a key is a file of results/, without its `-full.json` or `.json`; `/` leads into nested tables. A
list of numbers is shown by its mean.
"""

import contextlib
import io
import json
import math
import os
import re
import shlex
import sys
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from quantascope.claims.scoreboard import PaperFigure, read_paper
from quantascope.cli import main

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
UNPUBLISHED = "*No full run is published yet.*"
FORMS = ("mean", "range")
_INLINE = re.compile(r"(<!--= (.*?) -->)[^<]*(<!--/-->)")
_TABLE = re.compile(r"^\| <!-- (\S*\{row\}.*?) --> \|.*\n\|-.*\n(?:\|.*\n)*", re.MULTILINE)
_EVERY = re.compile(r"(<!-- figures -->)\n.*?(<!-- /figures -->)", re.DOTALL)
_NAMED = re.compile(r"<!--(?: (.*?))? --> ?(.*)")
_COMMAND = re.compile(r"(<!-- scoreboard: (.*?) -->)\n.*?(<!-- /scoreboard -->)", re.DOTALL)


def pages() -> list[Path]:
    """Every page that may quote."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def quoted(text: str, page: Path) -> str:
    """The text of a page, with what the results say now."""
    claim = page.stem
    text = _INLINE.sub(lambda found: f"{found[1]}{inline(found[2], claim)}{found[3]}", text)
    text = _TABLE.sub(lambda found: table(found[0], found[1], claim), text)
    text = _EVERY.sub(lambda found: f"{found[1]}\n{every_figure(claim)}\n{found[2]}", text)
    return _COMMAND.sub(lambda found: f"{found[1]}\n{_printed(found[2], page)}\n{found[3]}", text)


def inline(asked: str, claim: str) -> str:
    """One figure: `KEY`, `KEY mean`, `KEY range` or `KEY paper`, perhaps of another file."""
    address, _, form = asked.rpartition(" ")
    if form == "paper":
        file, _, key = address.rpartition(":")
        stated = read_stated().get((_claim_of(file or claim), key))
        if stated is None:
            raise SystemExit(f"{claim} quotes {key}, which the paper does not state")
        return stated.printed.replace("-", "−")
    return shown(figure(address, claim), form) if form in FORMS else shown(figure(asked, claim))


def table(text: str, template: str, claim: str) -> str:
    """A table of which each row, and in a grid each column, names a figure, with the figures of the results."""
    head, rule, *rows = text.splitlines()
    columns = [found[1] or "" for cell in _cells(head)[1:] if (found := _NAMED.fullmatch(cell))]
    out = [head, rule]
    for row in rows:
        first = _cells(row)[0]
        named = _NAMED.fullmatch(first)
        if named is None:
            raise SystemExit(f"a row of {claim} names no figure: {first}")
        keys = [template.format(row=named[1], column=column) for column in columns or [""]]
        file, _, key = keys[0].rpartition(":")
        if columns:
            cells = [shown(figure(one, claim), missing="") for one in keys]
        else:
            cells = _beside_the_paper(figure(keys[0], claim), read_stated().get((_claim_of(file or claim), key)))
            cells = cells[-len(_cells(head)) + 1 :]
        out.append(f"| {first} | {' | '.join(cells)} |")
    return "\n".join(out) + "\n"


def every_figure(claim: str) -> str:
    """A table of all figures of a claim."""
    path = _file(claim)
    if path is None:
        return UNPUBLISHED
    found = {key: one for key, one in _read(path).items() if one["mean"] is not None}
    head = "|  | paper | here | runs |\n|---|---:|---:|---:|"
    rows = (
        f"| {_title(one)} | {' | '.join(_beside_the_paper(one, read_stated().get((claim, key))))} |"
        for key, one in found.items()
    )
    return "\n".join([head, *rows])


def _claim_of(file: str) -> str:
    """The claim whose result a file is; one of the paper's preset is named after it too."""
    return file.removesuffix("-paper")


def _title(found: dict[str, Any]) -> str:
    return ", ".join(dict.fromkeys(filter(None, (found["says"], found["unit"]))))


def _beside_the_paper(found: dict[str, Any], stated: PaperFigure | None) -> list[str]:
    """The paper's figure, ours, and how many runs define it, of how many."""
    defined = len(found["values"])
    runs = f"{defined} of {defined + found['undefined']}" if found["undefined"] else str(defined)
    return [stated.printed.replace("-", "−") if stated else "", shown(found), runs]


def _cells(row: str) -> list[str]:
    """The cells of a row of a table.

    >>> _cells("| one | two |  |")
    ['one', 'two', '']
    """
    return [cell.strip() for cell in row.strip().removeprefix("|").removesuffix("|").split("|")]


def figure(address: str, claim: str) -> Any:
    """The number or estimate at `KEY` of the claim's result, or at `FILE:KEY`; None if there is no such key."""
    file, _, keys = address.rpartition(":")
    path = _file(file or claim)
    if path is None:
        raise SystemExit(f"there is no result {file or claim} in {RESULTS}, of which a page quotes {keys}")
    found = _read(path)
    for key in keys.split("/"):
        found = found.get(key) if isinstance(found, dict) else found[int(key)]
        if found is None:
            return None
    return found


def shown(found: Any, form: str = "", *, missing: str | None = None) -> str:
    """An estimate as `mean [low, high]`, its mean alone, or the range of its values.

    >>> shown({"mean": -0.70021, "low": -0.7287, "high": -0.6718, "values": [-0.7, -0.71, -0.69]})
    '−0.700 [−0.729, −0.672]'
    >>> shown({"mean": 504.0, "low": None, "high": None, "values": [504.0]}), shown(5.3072), shown(1000)
    ('504', '5.31', '1,000')
    """
    if found is None or (isinstance(found, dict) and found["mean"] is None):
        if missing is None:
            raise SystemExit("a page quotes a figure that is not there, or that no run defines")
        return missing
    if isinstance(found, list):
        found = fmean(found)
    if not isinstance(found, dict):
        return _number(found, _decimals(found))
    values = [value for value in (found["mean"], *found.get("values", ())) if value is not None]
    decimals = 0 if all(float(value).is_integer() for value in values) else _decimals(found["mean"])
    mean = _number(found["mean"], decimals)
    if form == "range":
        ends = [_number(end, decimals) for end in (min(found["values"]), max(found["values"]))]
        return ends[0] if ends[0] == ends[1] else " to ".join(ends)
    if form == "mean" or found["low"] is None or found["low"] == found["high"]:
        return mean
    decimals = decimals or int(abs(found["mean"]) < 100)
    return f"{mean} [{_number(found['low'], decimals)}, {_number(found['high'], decimals)}]"


def _decimals(value: float) -> int:
    """So many that three digits are significant, and three at most.

    >>> [_decimals(value) for value in (17642.1, 62.8, 0.7, 0.0234, 0.0)]
    [0, 1, 3, 3, 0]
    """
    if not value or float(value).is_integer():
        return 0
    return max(0, min(3, 2 - math.floor(math.log10(abs(value)))))


def _number(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace("-", "−")


def _printed(command: str, page: Path) -> str:
    """What a quantascope command prints; links are those of the page."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main([*shlex.split(command)[1:], "--results", str(RESULTS)])
    if code:
        raise SystemExit(f"{command} failed")
    links = re.compile(r"(?<=\]\()docs/[^)]*")
    return links.sub(lambda found: os.path.relpath(ROOT / found[0], page.parent), out.getvalue().strip())


@cache
def read_stated() -> dict[tuple[str, str], PaperFigure]:
    """The paper's figures by claim and name."""
    return {(one.claim, one.figure): one for one in read_paper(RESULTS)}


def _file(name: str) -> Path | None:
    paths = (RESULTS / f"{name}-full.json", RESULTS / f"{name}.json")
    return next((path for path in paths if path.exists()), None)


@cache
def _read(path: Path) -> Any:
    found = json.loads(path.read_text(encoding="utf-8"))
    return found["figures"] if path.parent == RESULTS else found


if __name__ == "__main__":
    changed = []
    for page in pages():
        before = page.read_text(encoding="utf-8")
        after = quoted(before, page)
        if after != before:
            page.write_text(after, encoding="utf-8")
            changed.append(str(page.relative_to(ROOT)))
    print("\n".join(changed) or "every page says what the results say", file=sys.stderr)
