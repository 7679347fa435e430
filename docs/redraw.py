"""Draw figures of committed results again: `python docs/redraw.py CLAIM ...`; without a name, all that can be.

A figure that shows figures of its claim alone is drawn from results/CLAIM-PRESET.json. One that shows curves or
events needs the runs: `quantascope reproduce CLAIM`.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from quantascope.claims.claim import Reproduction
from quantascope.claims.figures import draw_claim
from quantascope.claims.register import CLAIMS
from quantascope.claims.result import Result
from quantascope.report.figures import save_figure
from quantascope.report.figures.style import house_style

RESULTS = Path(__file__).parents[1] / "results"


class NeedsRuns(LookupError):
    """A figure asks for the runs of its claim."""


class _NoRuns(Mapping[str, Any]):
    """The evidence of a result whose runs are not here."""

    def __getitem__(self, label: str) -> Any:
        raise NeedsRuns

    def __iter__(self) -> Iterator[str]:
        raise NeedsRuns

    def __len__(self) -> int:
        return 0


def redraw(file: Path, folder: Path) -> Path:
    """Draw the figure of a result into a folder, from the result alone; the path of the picture."""
    result = Result.load(file)
    claim = CLAIMS[result.claim]
    config = type(claim.presets[result.preset]).parse(result.config)
    picture = folder / f"{file.stem}.png"
    with house_style():
        save_figure(draw_claim(Reproduction(result, config, _NoRuns(), folder)), picture)
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", nargs="*", metavar="CLAIM")
    parser.add_argument("--preset", default="full")
    parser.add_argument("--out", type=Path, default=RESULTS / "figures", help="the folder of the pictures")
    chosen = parser.parse_args()
    names = chosen.claims or [name for name in CLAIMS if (RESULTS / f"{name}-{chosen.preset}.json").exists()]
    for name in names:
        try:
            print(redraw(RESULTS / f"{name}-{chosen.preset}.json", chosen.out))
        except NeedsRuns:
            print(f"{name}: its figure needs the runs; quantascope reproduce {name}", file=sys.stderr)
        except KeyError as missing:
            print(f"{name}: the result has no {missing}, which its figure shows now", file=sys.stderr)


if __name__ == "__main__":
    main()
