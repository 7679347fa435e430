"""Finds the checkpoints of a folder, with the steps in their names.

The step is the number after step, iter, checkpoint or ckpt, in the name of the file or of a folder above it.
In names without such a word, the step is the only number, or the only number that differs between names. Ambiguous
names raise an error, because checkpoints in a wrong order would look like learning. Several branches of a training
(`stage1-step…`, `stage2-ingredient1-step…`) also raise an error unless one is chosen, because their steps restart.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.training.checkpoint_files import INDEX, Shards, WeightFile, shards_of_index, weight_files

_WORDS = ("step", "iter(?:ation)?", "(?:checkpoint|ckpt)")
_BRANCH = re.compile(r"stage[-_]?\d+(?:[-_]ingredient[-_]?\d+)?", re.IGNORECASE)
# 1e3, 1,000, 10k and 2.31 are numbers, but not the one that their first digits are.
_GOES_ON = re.compile(r"[.,]\d|(?!steps?|iter)[a-z]", re.IGNORECASE)
_BEGAN = re.compile(r"\d[.,]$")


def find_checkpoints(folder: Path, *, branch: str | None = None, pickles: bool = False) -> dict[int, list[Shards]]:
    """Every checkpoint under a folder by step; a duplicated step has more than one.

    `branch` chooses one of several, such as "stage1" or "stage2-ingredient3". With `pickles`, checkpoints that are
    only there as .bin, .pt, .pth or .ckpt are listed as well.
    """
    files = weight_files(folder)
    found = by_step([file for file in files if pickles or not file.pickled], branch=branch, where=str(folder))
    if not pickles:
        _refuse_pickles_alone(folder, files, found)
    return {step: [_shards(group) for group in groups.values()] for step, groups in found.items()}


def by_step(
    files: Iterable[WeightFile], *, branch: str | None, where: str
) -> dict[int, dict[str, list[WeightFile]]]:
    """Files of one branch by the step that their names say, and by what the names of one checkpoint share."""
    files = list(files)
    places = _places({file.stem for file in files})
    chosen = _of_branch({name: _branch(name, place) for name, place in places.items()}, branch, where)
    found: dict[int, dict[str, list[WeightFile]]] = {}
    for file in files:
        if file.stem in chosen:
            place = places[file.stem]
            of_folder = "/" in file.stem[place.end() :]
            whole = file.stem.rpartition("/")[0] if of_folder else file.stem
            found.setdefault(int(place[0]), {}).setdefault(whole, []).append(file)
    return dict(sorted(found.items()))


def _branch(name: str, place: re.Match[str]) -> str:
    """The stage and ingredient that a name has before its step; empty if none."""
    found = _BRANCH.search(name[: place.start()])
    return found[0] if found else ""


def _of_branch(branches: Mapping[str, str], branch: str | None, where: str) -> set[str]:
    """The names of the chosen branch, or of the only one."""
    known = sorted(set(branches.values()))
    shown = ", ".join(repr(one) for one in known)
    if branch is None and len(known) > 1:
        raise DamagedArtefact(f"{where} holds several branches of training ({shown}); choose one with branch=")
    if branch is not None and branch not in known:
        raise InvalidConfig(f"{where} has no branch {branch!r}; choose one of {shown or 'none'}")
    return {name for name, own in branches.items() if branch is None or own == branch}


def _shards(group: Sequence[WeightFile]) -> Shards:
    """The files of one checkpoint: safetensors before pickles, and all that an index names."""
    safe = [file for file in group if not file.pickled] or list(group)
    files = {file.path for file in safe if not file.name.endswith(INDEX)}
    for file in safe:
        if file.name.endswith(INDEX):
            files |= set(shards_of_index(file.path))
    return tuple(sorted(files))


def _refuse_pickles_alone(
    folder: Path, files: list[WeightFile], found: Mapping[int, Mapping[str, list[WeightFile]]]
) -> None:
    """Raise if a series has a pickle, which would otherwise be skipped silently."""
    known = {file.path.parent for groups in found.values() for group in groups.values() for file in group}
    for file in files:
        usual = file.path.name.startswith("pytorch_model") and re.search(r"\d", file.stem)
        if file.pickled and (not found or (usual and file.path.parent not in known)):
            raise DamagedArtefact(
                f"{file.path} is a pickle, which is read only if asked for; give pickles=True (torch.load with "
                f"weights_only), or save the checkpoints of {folder} as safetensors"
            )


def _places(names: Iterable[str]) -> dict[str, re.Match[str]]:
    """The position of the step in each name that has a number."""
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
