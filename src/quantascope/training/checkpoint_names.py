"""Which checkpoints a folder holds, by the step that their names say.

The step is the number after step, iter, checkpoint or ckpt, in the name of the file or of a folder above it.
Names without such a word say it by their only number, or by the only one that differs from name to name. Names
that leave it open are refused: checkpoints in a wrong order would be read as something learned.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from quantascope.runs.errors import DamagedArtefact

Shards = tuple[Path, ...]

_WORDS = ("step", "iter(?:ation)?", "(?:checkpoint|ckpt)")
_SHARD = re.compile(r"[-_.]?\d+-of-\d+$")
# 1e3, 1,000, 10k and 2.31 are numbers, but not the one that their first digits are.
_GOES_ON = re.compile(r"[.,]\d|(?!steps?|iter)[a-z]", re.IGNORECASE)
_BEGAN = re.compile(r"\d[.,]$")


def find_checkpoints(folder: Path) -> dict[int, list[Shards]]:
    """Every checkpoint under a folder by its step: more than one where a step is there twice."""
    folder = folder / "checkpoints" if (folder / "checkpoints").is_dir() else folder
    names = {
        file: _SHARD.sub("", file.relative_to(folder).with_suffix("").as_posix())
        for file in sorted(folder.rglob("*.safetensors"))
    }
    places = _places(set(names.values()))
    found: dict[int, dict[Path, list[Path]]] = {}
    for file, name in names.items():
        if place := places.get(name):
            of_folder = "/" in name[place.end() :]
            whole = file.parent if of_folder else folder / name
            found.setdefault(int(place[0]), {}).setdefault(whole, []).append(file)
    return {step: [tuple(shards) for shards in found[step].values()] for step in sorted(found)}


def _places(names: Iterable[str]) -> dict[str, re.Match[str]]:
    """Where each name says its step; those without a number do not."""
    numbers = {name: numbers for name in names if (numbers := list(re.finditer(r"\d+", name)))}
    alike: dict[str, list[str]] = {}
    for name in numbers:
        alike.setdefault(re.sub(r"\d+", "0", name), []).append(name)
    places = {}
    for group in alike.values():
        differing = [
            place
            for place in range(len(numbers[group[0]]))
            if len({numbers[name][place][0] for name in group}) > 1
        ]
        for name in group:
            own = _after_a_word(name, numbers[name]) or [numbers[name][place] for place in differing]
            places[name] = _only(name, own or numbers[name])
    return places


def _after_a_word(name: str, numbers: list[re.Match[str]]) -> list[re.Match[str]]:
    """The numbers after the first of the words that has one."""
    for word in _WORDS:
        ends = re.compile(rf"{word}s?[-_=. ]*$", re.IGNORECASE)
        if own := [number for number in numbers if ends.search(name[: number.start()])]:
            return own
    return []


def _only(name: str, numbers: list[re.Match[str]]) -> re.Match[str]:
    number = numbers[0]
    several = len({int(one[0]) for one in numbers}) > 1
    if several or _GOES_ON.match(name, number.end()) or _BEGAN.search(name[: number.start()]):
        raise DamagedArtefact(
            f"the step of checkpoint '{name}' is not clear; rename it, as in step-100, or give the steps with "
            "Trajectory.of_files"
        )
    return number
