"""The scoreboard with the unit of each row, where the paper states it, and the drawing of its claim."""

import base64
from pathlib import Path
from typing import Any

from quantascope.claims.scoreboard import Row, scoreboard
from quantascope.runs.errors import DamagedArtefact
from quantascope.runs.files import opened

FIGURES = "figures"


def claim_rows(results: Path) -> list[dict[str, Any]]:
    """The rows of `quantascope scoreboard --json`, with words."""
    return [_told(results, row) for row in scoreboard(results)]


def claim_drawing(results: Path, claim: str) -> str:
    """The committed drawing of a claim that has a result, as a data address."""
    told = (row.to_json() for row in scoreboard(results) if row.claim == claim)
    preset = next((one["preset"] for one in told if one["preset"]), None)
    if preset is None:
        raise DamagedArtefact(f"the claim {claim} has no committed result, so no drawing")
    with opened(_file(results, claim, preset), "restore it") as file:
        return "data:image/svg+xml;base64," + base64.b64encode(file.read()).decode()


def _told(results: Path, row: Row) -> dict[str, Any]:
    told = row.to_json()
    known = row.stated or row.estimate
    return {
        **told,
        "unit": known.unit if known else "",
        "place": row.stated.place if row.stated else "",
        "drawing": bool(row.preset) and _file(results, row.claim, row.preset).is_file(),
    }


def _file(results: Path, claim: str, preset: str) -> Path:
    return results / FIGURES / f"{claim}-{preset}.svg"
