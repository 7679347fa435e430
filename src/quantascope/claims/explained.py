"""The scoreboard with each row's unit and place in the paper, and the drawing of each claim."""

import base64
from pathlib import Path
from typing import Any

from quantascope.claims.scoreboard import Row, scoreboard
from quantascope.runs.errors import DamagedArtefact
from quantascope.runs.files import opened

FIGURES = "figures"


def claim_rows(results: Path) -> list[dict[str, Any]]:
    """The rows of `quantascope scoreboard --json`, with units, places in the paper, and drawings."""
    return [_explained(results, row) for row in scoreboard(results)]


def claim_drawing(results: Path, claim: str) -> str:
    """The committed drawing of a claim that has a result, as a data URL."""
    rows = (row.to_json() for row in scoreboard(results) if row.claim == claim)
    preset = next((one["preset"] for one in rows if one["preset"]), None)
    if preset is None:
        raise DamagedArtefact(f"the claim {claim} has no committed result, so no drawing")
    with opened(_file(results, claim, preset), "restore it") as file:
        return "data:image/svg+xml;base64," + base64.b64encode(file.read()).decode()


def _explained(results: Path, row: Row) -> dict[str, Any]:
    known = row.stated or row.estimate
    return {
        **row.to_json(),
        "unit": known.unit if known else "",
        "place": row.stated.place if row.stated else "",
        "drawing": bool(row.preset) and _file(results, row.claim, row.preset).is_file(),
    }


def _file(results: Path, claim: str, preset: str) -> Path:
    return results / FIGURES / f"{claim}-{preset}.svg"
