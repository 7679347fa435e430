"""The audit of a run: its checkpoints as a trajectory, and, of a source of ours, how smoothly it was trained.

Training noted the loss before every update, so each checkpoint but the last must have the loss of its step; one
that does not, the first included, is of another run or of another step. A loss that rises at many steps, or a
first-order account that is far from the true loss change, in sum or event by event, says that the paper's gradient
priority does not measure what was learned.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from quantascope.discovery import PriorityField, priority_field
from quantascope.runs.artefact import read_json
from quantascope.sources.losses import ModuleLosses
from quantascope.sources.trained import NamingSource, Source, read_source
from quantascope.training.audit import Finding, audit
from quantascope.training.checkpoint_names import find_checkpoints

MOST_RISING = 0.05
"""Share of rising steps above which a full-batch training is not smooth."""
SAME_LOSS = 1e-4
"""Relative difference up to which a loss is that noted in training, on whatever machine."""


@dataclass(frozen=True)
class AuditReport:
    """What is wrong with a run, and three figures of a source of ours."""

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
        """For people: one line for each finding."""
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


def audit_run(path: Path) -> AuditReport:
    """Audit a run directory or any folder of checkpoints."""
    source = read_source(path) if _is_source(path) else None
    findings = audit(path, expected=source.config.training.checkpoints if source else ())
    checkpoints = len(find_checkpoints(path))
    if source and not findings:
        findings = other_losses(source)
    if source is None or findings:
        return AuditReport(path, checkpoints, findings)
    rising, first_order = source.rising_share, first_order_field(source)
    account, correlation = first_order.completeness, first_order.event_correlation
    if rising > MOST_RISING:
        says = f"the loss rose in {100 * rising:.1f} % of the steps: training is at the edge of stability"
        findings.append(Finding("rising loss", None, says))
    if not first_order.reliable:
        says = (
            f"ΣP/ΔL is {account:.3g}, correlation {correlation:.2f} by event; the gradient rule does not hold "
            "here: discover with --rule path"
        )
        findings.append(Finding("first order", None, says))
    return AuditReport(path, checkpoints, findings, rising, account, correlation)


@torch.no_grad()
def other_losses(source: Source) -> list[Finding]:
    """Checkpoints whose loss is not the one that training noted at their step."""
    losses, trajectory, findings = ModuleLosses(source.config.build()), source.trajectory, []
    for index, step in enumerate(trajectory.steps.tolist()):
        if step >= len(source.step_loss):
            continue
        loss, noted = float(losses(trajectory.load(index), source.events).mean()), float(source.step_loss[step])
        if not abs(loss - noted) <= SAME_LOSS * noted:
            says = f"the checkpoint of step {step} has loss {loss:.4g}; in training it was {noted:.4g}"
            findings.append(Finding("other loss", step, says))
    return findings


def first_order_field(source: Source) -> PriorityField:
    """The gradient rule over all parameters together, on the training events."""
    trajectory = source.trajectory.at(source.config.interval_steps)
    losses = ModuleLosses(source.config.build())
    return priority_field(trajectory, losses, {"all": "*"}, train=source.events, rule="gradient")


def _is_source(path: Path) -> bool:
    file = path / "config.json"
    found = read_json(file) if file.is_file() else None
    return isinstance(found, dict) and found.get("kind") == NamingSource.__name__
