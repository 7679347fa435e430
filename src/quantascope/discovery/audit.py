"""The audit of a run: whether its checkpoints form one trajectory, and how smoothly a source was trained.

Training recorded the loss before every update, so each checkpoint except the last must reproduce the loss of its
step. A checkpoint that does not belongs to another run or another step. If the loss rises at many steps, or if
first-order credit differs much from the true loss change, in sum or event by event, the paper's gradient priority
does not measure what was learned.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from quantascope.discovery import PriorityField, priority_field
from quantascope.sources.losses import TiedLosses
from quantascope.sources.source import Source
from quantascope.sources.trained import planned_steps
from quantascope.training.audit import audit
from quantascope.training.checkpoint_names import find_checkpoints
from quantascope.training.finding import Finding
from quantascope.training.reversal import reversed_series

MOST_RISING = 0.05
"""Share of rising steps above which a full-batch training is not smooth."""
AT_ONCE = 1024
"""Examples whose losses are computed at once."""
SAME_LOSS = 1e-4
"""Relative difference up to which a loss counts as equal to the recorded one, to allow for other machines."""


@dataclass(frozen=True)
class AuditReport:
    """The problems found in a run, and three smoothness figures if the source was trained by quantascope."""

    path: Path
    checkpoints: int
    findings: list[Finding]
    rising_share: float | None = None
    first_order_account: float | None = None
    event_correlation: float | None = None

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {**asdict(self), "path": str(self.path)}

    def text(self) -> str:
        """The report as readable text, one line for each finding."""
        lines = [f"{finding.kind}: {finding.says}" for finding in self.findings]
        if self.rising_share is not None:
            lines.append(f"the loss rose in {100 * self.rising_share:.1f} % of the steps")
        if self.first_order_account is not None:
            lines.append(
                f"first-order credit sums to {self.first_order_account:.2f} of the loss change (ΣP/ΔL), "
                f"correlation {self.event_correlation:.2f} by event"
            )
        verdict = f"{len(self.findings)} findings" if self.findings else "nothing wrong"
        return "\n".join([*lines, f"{self.path}: {self.checkpoints} checkpoints, {verdict}"])


def audit_run(path: Path, source: Source | Callable[[], Source] | None = None, **series: Any) -> AuditReport:
    """Audit a folder of checkpoints; with its source, also compare losses and updates with the training record.

    If `source` is a function, it is called only if the files are sound, because a series with a gap cannot be
    opened.
    """
    steps = {*source.steps, *source.replay_steps} if isinstance(source, Source) else planned_steps(path)
    findings = audit(path, expected=sorted(steps), **series)
    checkpoints = len(find_checkpoints(path, **series))
    if source is None or findings:
        return AuditReport(path, checkpoints, findings)
    if not isinstance(source, Source):
        source = source()
    findings = other_losses(source)
    if findings:
        return AuditReport(path, checkpoints, findings)
    rising = source.rising_share
    if rising is not None and rising > MOST_RISING:
        says = f"the loss rose in {100 * rising:.1f} % of the steps: training is at the edge of stability"
        findings.append(Finding("rising loss", None, says))
    if source.trajectory.mass is None:
        return AuditReport(path, checkpoints, findings, rising)
    first_order = first_order_field(source)
    account, correlation = first_order.completeness, first_order.event_correlation
    if not first_order.reliable:
        says = (
            f"ΣP/ΔL is {account:.3g}, correlation {correlation:.2f} by event; the gradient rule does not hold "
            "here: discover with --rule path"
        )
        findings.append(Finding("first order", None, says))
    return AuditReport(path, checkpoints, findings, rising, account, correlation)


@torch.no_grad()
def other_losses(source: Source) -> list[Finding]:
    """Problems of the checkpoints' losses: one differs from the recorded loss, or the series is reversed."""
    kept = source.checkpoints
    steps = kept.steps.tolist()
    measured = [_mean_loss(source, kept.load(index)) for index in range(len(kept))]
    if source.step_loss is None:
        return reversed_series(steps, measured)
    findings = []
    for step, loss in zip(steps, measured, strict=True):
        if step >= len(source.step_loss):
            continue
        noted = float(source.step_loss[step])
        if not abs(loss - noted) <= SAME_LOSS * noted:
            says = f"the checkpoint of step {step} has loss {loss:.4g}; training recorded {noted:.4g}"
            findings.append(Finding("other loss", step, says))
    return findings


def _mean_loss(source: Source, tensors: dict[str, Tensor]) -> float:
    asked, examples = TiedLosses.of(source.losses, tensors, source.device), source.examples()
    once = asked.tensors(tensors)
    parts = [asked(once, examples[start : start + AT_ONCE]) for start in range(0, len(examples), AT_ONCE)]
    return float(torch.cat(parts).mean())


def first_order_field(source: Source) -> PriorityField:
    """The priority field of the gradient rule over all parameters as one layer, on the training events."""
    return priority_field(
        source.trajectory,
        source.losses,
        {"all": "*"},
        train=source.examples(),
        rule="gradient",
        device=source.device,
    )
