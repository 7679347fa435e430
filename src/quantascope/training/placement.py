"""Checks the position of each member of a series: members of other runs, exchanged ones, jumps."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from quantascope.training.finding import Finding
from quantascope.training.order import exchanged, lineages, standing_aside
from quantascope.training.sketch import Sketch, distances, norms, products

JUMP = 10.0
"""An interval is a jump if its speed is this many times that of both its neighbours."""


@dataclass(frozen=True, eq=False)
class Member:
    """The data that the audit keeps for a checkpoint."""

    step: int
    digest: str
    sketch: Sketch
    loss: float | None
    shards: Mapping[str, str] = field(default_factory=dict)
    """Digest of each shard by its name."""


def out_of_place(members: list[Member]) -> list[Finding]:
    """Members of other runs, then problems with the order of the rest.

    Duplicated weights are left out, because their true step is unknown.
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


def identical(members: list[Member]) -> list[Finding]:
    """Members with the weights of an earlier one."""
    seen: dict[str, int] = {}
    findings = []
    for member in members:
        if member.digest in seen:
            says = f"step {member.step} holds the same weights as step {seen[member.digest]}"
            findings.append(Finding("identical weights", member.step, says))
        seen.setdefault(member.digest, member.step)
    return findings


def _main_run(runs: list[list[int]], members: int) -> list[int]:
    """The run that others are compared with: the first member's run, unless it is a small part."""
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
    """Jumps between two stretches: intervals much faster than their neighbours."""
    findings = []
    speed = way / np.maximum(np.diff(steps), 1)
    for index in range(1, len(speed)):
        nearby = float(speed[[index - 1, *([index + 1] if index + 1 < len(speed) else [])]].max())
        step = int(steps[index + 1])
        if nearby > 0 and speed[index] > JUMP * nearby and step not in known:
            says = f"the way to step {step} is {speed[index] / nearby:.1f} times as fast as beside it"
            findings.append(Finding("jump", step, says))
    return findings
