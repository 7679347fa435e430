"""Publication: a result and its figure in the folder of committed results.

A long claim can be published a few seeds at a time. The seeds of a later part are added to those that are there.
"""

from collections.abc import Mapping
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

from quantascope.claims.claim import Claim, Reproduction
from quantascope.claims.figures import write_figure
from quantascope.claims.more_seeds import holds_seeds, is_part, with_more_seeds
from quantascope.claims.result import Result
from quantascope.runs.config import Config
from quantascope.runs.errors import InvalidConfig
from quantascope.runs.files import write_bytes


def check_publishable(claim: Claim, config: Config, preset: str) -> None:
    """Refuse to publish a preset whose settings were changed, except that some of its seeds may be left out."""
    wanted, given = (one.model_dump(mode="json") for one in (claim.presets[preset], config))
    if wanted == given:
        return
    if claim.summary is None or not is_part(given, wanted):
        raise InvalidConfig(f"settings of the {preset} preset were changed; publish it without --set")


def publish_result(claim: Claim, done: Reproduction, results: Path, *, replace: bool = False) -> Result:
    """Copy a result and its figure to the folder of committed results, and return what is there now.

    Seeds that are not there yet are added. Another result is replaced only if asked.
    """
    file = results / f"{done.result.claim}-{done.result.preset}.json"
    held = Result.load(file) if file.exists() and not replace else None
    if held and _differs_by_seeds(held.config, done.result.config):
        joined = with_more_seeds(claim, held, done.result)
        config = type(done.config).parse(joined.config)
        done = changed(done, result=joined, config=config, evidence={}, folder=done.folder / "published")
        done.folder.mkdir(exist_ok=True)
        if claim.keeps_figure:
            done.result.save(file)
            return done.result
        write_figure(done)
    elif held and _measured(held) != _measured(done.result):
        raise InvalidConfig(f"{file} holds another result; add --replace to replace it, or publish elsewhere")
    for suffix in (".png", ".svg"):
        write_bytes(results / "figures" / f"{file.stem}{suffix}", (done.folder / f"figure{suffix}").read_bytes())
    done.result.save(file)
    return done.result


def _measured(result: Result) -> tuple[object, object]:
    return result.config, result.figures


def _differs_by_seeds(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    keys = first.keys() | second.keys()
    different = [key for key in keys if first.get(key) != second.get(key)]
    return bool(different) and all(
        holds_seeds(key) or _only_inside(first.get(key), second.get(key)) for key in different
    )


def _only_inside(first: Any, second: Any) -> bool:
    return isinstance(first, Mapping) and isinstance(second, Mapping) and _differs_by_seeds(first, second)
