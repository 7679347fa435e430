"""Is a folder of checkpoints the trajectory of one training run?

Public checkpoint series are known to contain duplicated, swapped and damaged members. Differences between
checkpoints are what everything downstream is made of, so a wrong member would be read as something learned. The
audit goes through the checkpoints once, three in memory at a time, and lists what is wrong.
"""

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from quantascope.runs.errors import DamagedArtefact
from quantascope.training.checkpoint_names import Shards, find_checkpoints
from quantascope.training.trajectory import Trajectory, load_shards

ASIDE = 4.0
"""A checkpoint stands aside if the way over it is this many times the way past it."""
JUMP = 10.0
"""An interval is a jump if its speed is this many times that of both its neighbours."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a trajectory."""

    kind: str
    step: int | None
    says: str


def audit(folder: Path | str, *, expected: Iterable[int] = ()) -> list[Finding]:
    """What is wrong with the checkpoints in a folder; `expected` are the steps that should be there.

    >>> import tempfile
    >>> from torch import nn
    >>> from quantascope.training import Recorder
    >>> folder, model = tempfile.mkdtemp(), nn.Linear(2, 2)
    >>> recorder = Recorder(model, folder, steps=1)
    >>> recorder.step(0.1)
    >>> [finding.says for finding in audit(folder)]
    ['step 1 holds the same weights as step 0']
    """
    found = find_checkpoints(Path(folder))
    if not found:
        Trajectory.open(folder)  # says that there is nothing
    findings = [*_doubled(found), *_missing(sorted(found), sorted(expected))]
    members: list[_Member] = []
    before: dict[str, Tensor] | None = None
    earlier: dict[str, Tensor] | None = None
    first: _Shape | None = None
    for step, candidates in found.items():
        try:
            tensors = load_shards(candidates[0])
        except DamagedArtefact as error:
            findings.append(Finding("unreadable", step, str(error)))
            continue
        shape = _shape(tensors)
        first = first or shape
        if shape != first:
            findings.append(Finding("shape", step, f"step {step}: {_difference(first, shape)}"))
            continue
        bad = [name for name, tensor in tensors.items() if not _finite(tensor)]
        if bad:
            findings.append(Finding("non-finite", step, f"step {step} has non-finite values in '{bad[0]}'"))
            continue
        members.append(_Member(step, _digest(tensors), _distance(before, tensors), _distance(earlier, tensors)))
        before, earlier = tensors, before
    return [*findings, *_identical(members), *_out_of_place(members)]


_Shape = dict[str, tuple[tuple[int, ...], str]]


@dataclass(frozen=True)
class _Member:
    step: int
    digest: str
    from_before: float
    from_two_before: float


def _doubled(found: Mapping[int, list[Shards]]) -> list[Finding]:
    return [
        Finding("duplicated step", step, f"step {step} is there {len(files)} times: {_names(files)}")
        for step, files in found.items()
        if len(files) > 1
    ]


def _names(files: list[Shards]) -> str:
    return ", ".join(str(shards[0]) for shards in files)


def _missing(steps: list[int], expected: list[int]) -> list[Finding]:
    if not expected and len(steps) > 2:
        gaps = np.diff(steps)
        usual = int(np.median(gaps))
        # A series is regular if nearly all of its gaps are one length and the others are multiples of it.
        if (gaps == usual).mean() >= 0.8 and (gaps % usual == 0).all():
            expected = list(range(steps[0], steps[-1] + 1, usual))
    return [Finding("missing step", step, f"step {step} is missing") for step in sorted({*expected} - {*steps})]


def _identical(members: list[_Member]) -> list[Finding]:
    seen: dict[str, int] = {}
    findings = []
    for member in members:
        if member.digest in seen:
            says = f"step {member.step} holds the same weights as step {seen[member.digest]}"
            findings.append(Finding("identical weights", member.step, says))
        seen.setdefault(member.digest, member.step)
    return findings


def _out_of_place(members: list[_Member]) -> list[Finding]:
    """Checkpoints away from the line between their neighbours, and breaks between two stretches."""
    findings = []
    aside = set()
    for here, after in itertools.pairwise(members[1:]):
        over, past = here.from_before + after.from_before, after.from_two_before
        if over > ASIDE * past and past > 0:
            aside |= {here.step, after.step}
            says = f"step {here.step} stands aside: the way over it is {over / past:.1f} times the way past it"
            findings.append(Finding("out of place", here.step, says))
    steps = np.array([member.step for member in members])
    speed = np.array([member.from_before for member in members[1:]]) / np.maximum(np.diff(steps), 1)
    for index in range(1, len(speed)):
        nearby = float(speed[[index - 1, *([index + 1] if index + 1 < len(speed) else [])]].max())
        step = int(steps[index + 1])
        if nearby > 0 and speed[index] > JUMP * nearby and step not in aside:
            says = f"the way to step {step} is {speed[index] / nearby:.1f} times as fast as beside it"
            findings.append(Finding("jump", step, says))
    return findings


def _shape(tensors: Mapping[str, Tensor]) -> _Shape:
    return {name: (tuple(tensor.shape), str(tensor.dtype)) for name, tensor in sorted(tensors.items())}


def _difference(first: _Shape, other: _Shape) -> str:
    for name in sorted({*first, *other}):
        if first.get(name) != other.get(name):
            then, now = (_shown(shape.get(name)) for shape in (first, other))
            return f"tensor '{name}' is {now}, at the first step {then}"
    return ""


def _shown(entry: tuple[tuple[int, ...], str] | None) -> str:
    return "missing" if entry is None else f"{entry[1]} {list(entry[0])}"


def _finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())


def _digest(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.blake2b()
    for _, tensor in sorted(tensors.items()):
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _distance(one: Mapping[str, Tensor] | None, other: Mapping[str, Tensor]) -> float:
    if one is None:
        return 0.0
    square = sum(float((other[name].double() - one[name].double()).square().sum()) for name in other)
    return square**0.5
