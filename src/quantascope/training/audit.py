"""Audits whether a folder of checkpoints is the trajectory of one training run.

Public checkpoint series are known to contain duplicated, exchanged and damaged members. All later analysis uses
differences between checkpoints, so a wrong member would look like learning. The audit reads each checkpoint once,
keeps a sketch of it, and lists what is wrong: damage, other shapes, non-finite values, duplicated weights, members
of another run, exchanged members (`order`), and, if losses are given, a reversed series. If a run oscillates as
far as it moves, distances do not reveal an exchange, and the audit reports none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import SupportsFloat

import numpy as np
import torch
from torch import Tensor

from quantascope.runs.artefact import read_facts
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.runs.run_directory import CONFIG, is_run, read_run
from quantascope.training.checkpoint_files import SAFE, Shards, require_complete
from quantascope.training.checkpoint_names import find_checkpoints
from quantascope.training.checkpoint_tensors import Layout, difference, join, layout_of, read_shard
from quantascope.training.digest import tensor_digest
from quantascope.training.finding import Finding
from quantascope.training.order import oscillation
from quantascope.training.placement import Member, identical, out_of_place
from quantascope.training.reversal import reversed_series
from quantascope.training.sketch import distances, sketch
from quantascope.training.trajectory import Trajectory, own_files

Losses = Callable[[dict[str, Tensor]], SupportsFloat] | Sequence[SupportsFloat] | np.ndarray
"""The loss of a checkpoint's tensors, or the loss of each checkpoint in the order of steps."""


def audit(
    folder: Path | str,
    *,
    expected: Iterable[int] = (),
    losses: Losses | None = None,
    branch: str | None = None,
    pickles: bool = False,
) -> list[Finding]:
    """Find the problems of the checkpoints in a folder; `expected` are the steps that should exist.

    >>> import tempfile
    >>> from torch import nn
    >>> from quantascope.training import Recorder
    >>> folder, model = tempfile.mkdtemp(), nn.Linear(2, 2)
    >>> recorder = Recorder(model, folder, steps=1)
    >>> recorder.step(0.1)
    >>> [finding.says for finding in audit(folder)]
    ['step 1 holds the same weights as step 0']
    """
    found = find_checkpoints(Path(folder), branch=branch, pickles=pickles)
    if not found:
        Trajectory.open(folder)  # says that there is nothing
    findings = [*_doubled(found), *missing_steps(sorted(found), sorted(expected)), *_origins(Path(folder), found)]
    members: list[Member] = []
    first: Layout | None = None
    for step, candidates in found.items():
        try:
            member, layout, wrong = _read(step, candidates[0], pickles=pickles, losses=losses)
        except DamagedArtefact as error:
            findings.append(Finding("unreadable", step, str(error)))
            continue
        first = first or layout
        if differs := difference(first, layout):
            findings.append(Finding("shape", step, f"step {step}: {differs}"))
            continue
        findings += wrong
        members += [member] if member else []
    findings += [*identical(members), *_identical_shards(members), *out_of_place(members)]
    return [*findings, *_reversed(list(found), members, losses)]


def _read(
    step: int, shards: Shards, *, pickles: bool, losses: Losses | None
) -> tuple[Member | None, Layout, list[Finding]]:
    require_complete(shards)
    parts = [read_shard(shard, pickles=pickles) for shard in shards]
    tensors = join(parts, shards)
    findings = _says_other_step(step, shards)
    bad = [name for name, tensor in tensors.items() if not _finite(tensor)]
    if bad:
        says = f"step {step} has non-finite values in '{bad[0]}'"
        return None, layout_of(tensors), [*findings, Finding("non-finite", step, says)]
    by_shard = {shard.name: tensor_digest(part) for shard, part in zip(shards, parts, strict=True)}
    loss = float(losses(tensors)) if callable(losses) else None
    member = Member(step, tensor_digest(tensors), sketch(tensors), loss, by_shard if len(shards) > 1 else {})
    return member, layout_of(tensors), findings


def _says_other_step(step: int, shards: Shards) -> list[Finding]:
    """Problems of quantascope's checkpoints that were renamed, since they record their step."""
    own = read_facts(shards[0]).get("step", step) if shards[0].suffix == SAFE else step
    if own == step:
        return []
    return [Finding("other step", step, f"{shards[0]} is named as step {step} and says that it is of step {own}")]


def _origins(folder: Path, found: Mapping[int, list[Shards]]) -> list[Finding]:
    """Problems of checkpoints that belong to another run than their folder, since they record their config."""
    made_by = {step: config for step, files in found.items() if (config := _made_by(files[0][0]))}
    if not made_by or not own_files(folder):  # outside a run folder they are an ordinary series
        return []
    if not is_run(folder):
        says = f"the checkpoints are those of a run, and {folder / CONFIG} does not say which; restore it"
        return [Finding("no config", None, says)]
    own = read_run(folder).hash
    return [
        Finding("other config", step, f"step {step} is of another run: config {config} made it, not {own}")
        for step, config in made_by.items()
        if config != own
    ]


def _made_by(file: Path) -> str | None:
    """The config hash of a checkpoint; None if it has none, or cannot be read, which another check reports."""
    try:
        return read_facts(file).get("config") if file.suffix == SAFE else None
    except DamagedArtefact:
        return None


def _doubled(found: Mapping[int, list[Shards]]) -> list[Finding]:
    return [
        Finding("duplicated step", step, f"step {step} is there {len(files)} times: {_names(files)}")
        for step, files in found.items()
        if len(files) > 1
    ]


def _names(files: list[Shards]) -> str:
    return ", ".join(str(shards[0]) for shards in files)


def missing_steps(steps: list[int], expected: list[int]) -> list[Finding]:
    """Expected steps that are missing; for a regular series, the expected steps are inferred."""
    if not expected and len(steps) > 2:
        gaps = np.diff(steps)
        usual = int(np.median(gaps))
        # A series is regular if nearly all of its gaps are one length and the others are multiples of it.
        if (gaps == usual).mean() >= 0.8 and (gaps % usual == 0).all():
            expected = list(range(steps[0], steps[-1] + 1, usual))
    return [Finding("missing step", step, f"step {step} is missing") for step in sorted({*expected} - {*steps})]


def _identical_shards(members: list[Member]) -> list[Finding]:
    """Shards that are identical at two steps of otherwise different checkpoints.

    A shard of frozen weights is identical at every step; a shard that is identical at only some steps is a
    problem.
    """
    findings = []
    for name in sorted({name for member in members for name in member.shards}):
        having = [member for member in members if name in member.shards]
        if len({member.shards[name] for member in having}) == 1:
            continue
        seen: dict[str, Member] = {}
        for member in having:
            same = seen.setdefault(member.shards[name], member)
            if same.digest != member.digest:
                says = f"step {member.step}: shard {name} holds the same weights as at step {same.step}"
                findings.append(Finding("identical shard", member.step, says))
    return findings


def _reversed(steps: list[int], members: list[Member], losses: Losses | None) -> list[Finding]:
    """A series whose loss rises from first to last as a whole."""
    if losses is None:
        return []
    turning = oscillation(distances([one.sketch for one in members])) if members else 0.0
    if callable(losses):
        known = [(member.step, member.loss) for member in members if member.loss is not None]
        return reversed_series([step for step, _ in known], [loss for _, loss in known], turning=turning)
    if len(losses) != len(steps):
        raise InvalidConfig(f"there are {len(losses)} losses for {len(steps)} checkpoints; give one for each")
    return reversed_series(steps, [float(loss) for loss in losses], turning=turning)


def _finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())
