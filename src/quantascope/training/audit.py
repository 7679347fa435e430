"""Is a folder of checkpoints the trajectory of one training run?

Public checkpoint series are known to contain duplicated, exchanged and damaged members. Differences between
checkpoints are what everything downstream is made of, so a wrong member would be read as something learned. The
audit reads each checkpoint once, keeps a sketch of it, and lists what is wrong: damage, other shapes, non-finite
values, weights that are there twice, members of another run, exchanged members (`order`), and, if losses are
given, a series in reverse. Where a run oscillates as far as it moves, distances do not show an exchange, and the
audit reports none.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np
import scipy.stats
import torch
from torch import Tensor

from quantascope.runs.artefact import read_facts
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.runs.run_directory import CONFIG, is_run, read_run
from quantascope.training.checkpoint_files import SAFE, Shards, require_complete
from quantascope.training.checkpoint_names import find_checkpoints
from quantascope.training.checkpoint_tensors import Layout, difference, join, layout_of, read_shard
from quantascope.training.digest import tensor_digest
from quantascope.training.order import exchanged, lineages, oscillation, standing_aside
from quantascope.training.sketch import Sketch, distances, norms, products, sketch
from quantascope.training.trajectory import Trajectory, own_files

JUMP = 10.0
"""An interval is a jump if its speed is this many times that of both its neighbours."""
REVERSED, SURELY = 0.9, 1e-3
"""A series is in reverse if its losses rise at nearly every step, or so that chance would do it this rarely."""
FEWEST_LOSSES = 4
OSCILLATES = 0.1
"""If more of the triangles of neighbours are broken, a run oscillates, and its loss may rise as it is."""

Losses = Callable[[dict[str, Tensor]], SupportsFloat] | Sequence[SupportsFloat] | np.ndarray
"""The loss of a checkpoint's tensors, or the loss of each checkpoint in the order of steps."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a trajectory."""

    kind: str
    step: int | None
    says: str


def audit(
    folder: Path | str,
    *,
    expected: Iterable[int] = (),
    losses: Losses | None = None,
    branch: str | None = None,
    pickles: bool = False,
) -> list[Finding]:
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
    found = find_checkpoints(Path(folder), branch=branch, pickles=pickles)
    if not found:
        Trajectory.open(folder)  # says that there is nothing
    findings = [*_doubled(found), *missing_steps(sorted(found), sorted(expected)), *_origins(Path(folder), found)]
    members: list[_Member] = []
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
    findings += [*_identical(members), *_identical_shards(members), *_out_of_place(members)]
    return [*findings, *_reversed(list(found), members, losses)]


@dataclass(frozen=True, eq=False)
class _Member:
    step: int
    digest: str
    sketch: Sketch
    loss: float | None
    shards: Mapping[str, str] = field(default_factory=dict)
    """Digest of each shard by its name."""


def _read(
    step: int, shards: Shards, *, pickles: bool, losses: Losses | None
) -> tuple[_Member | None, Layout, list[Finding]]:
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
    member = _Member(step, tensor_digest(tensors), sketch(tensors), loss, by_shard if len(shards) > 1 else {})
    return member, layout_of(tensors), findings


def _says_other_step(step: int, shards: Shards) -> list[Finding]:
    """A checkpoint of ours that was renamed says its step itself."""
    own = read_facts(shards[0]).get("step", step) if shards[0].suffix == SAFE else step
    if own == step:
        return []
    return [Finding("other step", step, f"{shards[0]} is named as step {step} and says that it is of step {own}")]


def _origins(folder: Path, found: Mapping[int, list[Shards]]) -> list[Finding]:
    """Checkpoints of a run say its config; they are of the run whose folder they are in, or something is wrong."""
    made_by = {step: config for step, files in found.items() if (config := _made_by(files[0][0]))}
    if not made_by or not own_files(folder):  # copied elsewhere, they are a series like any other
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
    """The config hash of a checkpoint of ours; None if it has none or cannot be read, which is told elsewhere."""
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
    """Steps that are expected and not there; a regular series says itself which ones it should have."""
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


def _identical_shards(members: list[_Member]) -> list[Finding]:
    """Shards that are the same at two steps, in checkpoints that are not.

    A shard of frozen weights is the same at every step; one that is the same at some and not at others is not.
    """
    findings = []
    for name in sorted({name for member in members for name in member.shards}):
        having = [member for member in members if name in member.shards]
        if len({member.shards[name] for member in having}) == 1:
            continue
        seen: dict[str, _Member] = {}
        for member in having:
            same = seen.setdefault(member.shards[name], member)
            if same.digest != member.digest:
                says = f"step {member.step}: shard {name} holds the same weights as at step {same.step}"
                findings.append(Finding("identical shard", member.step, says))
    return findings


def _out_of_place(members: list[_Member]) -> list[Finding]:
    """Members of other runs, then what is wrong with the order of the rest.

    Weights that are there twice are left out: which of the two steps they belong to is not known.
    """
    digests = [member.digest for member in members]
    members = [member for member in members if digests.count(member.digest) == 1]
    if len(members) < 2:
        return []
    runs = lineages(products([one.sketch for one in members]), members[0].sketch.entries)
    main = _main_run(runs, len(members))
    others = [run for run in runs if run is not main]
    findings = [_of_another_run([members[at].step for at in run], members[main[0]].step) for run in others]
    members = [members[at] for at in main]
    sketches = [one.sketch for one in members]
    far = distances(sketches)
    steps = [member.step for member in members]
    order = np.arange(len(members))
    for pair in exchanged(far, norms(sketches)):
        order[[pair.first, pair.second]] = order[[pair.second, pair.first]]
        one, other = sorted((steps[pair.first], steps[pair.second]))
        says = (
            f"steps {one} and {other} seem to be exchanged: of the triangles with their neighbours {pair.broken} "
            f"are broken, and {pair.broken - pair.mended} if they change places"
        )
        findings.append(Finding("exchanged", one, says))
    far = far[np.ix_(order, order)]
    aside = standing_aside(far)
    for at in aside:
        over = far[at - 1, at] + far[at, at + 1]
        times = over / far[at - 1, at + 1]
        says = f"step {steps[at]} stands aside: the way over it is {times:.1f} times the way past it"
        findings.append(Finding("out of place", steps[at], says))
    return [
        *findings,
        *_jumps(np.array(steps), np.diag(far, 1), {steps[at + after] for at in aside for after in (0, 1)}),
    ]


def _main_run(runs: list[list[int]], members: int) -> list[int]:
    """The run to which the others are compared: that of the first member, unless it is a small part."""
    first = next(run for run in runs if 0 in run)
    return first if len(first) >= max(2, members / 4) else runs[0]


def _of_another_run(steps: list[int], main: int) -> Finding:
    if len(steps) == 1:
        says = f"step {steps[0]} is of another run: its weights have nothing in common with those of step {main}"
    else:
        says = (
            f"steps {steps[0]} to {steps[-1]} ({len(steps)} checkpoints) are of another run: their weights have "
            f"nothing in common with those of step {main}"
        )
    return Finding("other run", steps[0], says)


def _jumps(steps: np.ndarray, way: np.ndarray, known: set[int]) -> list[Finding]:
    """Breaks between two stretches: intervals much faster than those beside them."""
    findings = []
    speed = way / np.maximum(np.diff(steps), 1)
    for index in range(1, len(speed)):
        nearby = float(speed[[index - 1, *([index + 1] if index + 1 < len(speed) else [])]].max())
        step = int(steps[index + 1])
        if nearby > 0 and speed[index] > JUMP * nearby and step not in known:
            says = f"the way to step {step} is {speed[index] / nearby:.1f} times as fast as beside it"
            findings.append(Finding("jump", step, says))
    return findings


def _reversed(steps: list[int], members: list[_Member], losses: Losses | None) -> list[Finding]:
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


def reversed_series(steps: Sequence[int], losses: Sequence[float], *, turning: float = 0.0) -> list[Finding]:
    """What losses in the order of steps say: one finding if they rise from first to last as a whole.

    Where most of the way is `turning` back and forth, a loss may rise as it is, and nothing is said.

    >>> [finding.kind for finding in reversed_series([0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0])]
    ['reversed']
    """
    values = [loss for loss in losses if math.isfinite(loss)]
    if len(values) < FEWEST_LOSSES or len(set(values)) == 1 or values[-1] <= values[0]:
        return []
    rank, chance = _rank_correlation(values)
    if (rank <= REVERSED and chance >= SURELY) or turning > OSCILLATES:
        return []
    says = (
        f"the loss rises from {values[0]:.3g} at step {min(steps)} to {values[-1]:.3g} at step {max(steps)} (rank "
        f"correlation with the steps {rank:.2f}): the series seems to be in reverse"
    )
    return [Finding("reversed", None, says)]


def _rank_correlation(values: list[float]) -> tuple[float, float]:
    """Kendall's correlation with the order, and how likely chance gives one as large."""
    found: Any = scipy.stats.kendalltau(np.arange(len(values)), np.array(values))
    return float(found.statistic), float(found.pvalue)


def _finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())
