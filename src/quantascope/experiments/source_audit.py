"""The audit of a run: its checkpoints as a trajectory, and, of a source of ours, how smoothly it was trained.

A loss that rises at many steps, or a first-order account far from the true loss change, says that training went at
the edge of stability, where the paper's gradient priority does not measure what was learned.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from quantascope.artefact import read_json
from quantascope.experiments.naming_source import NamingSource, Source, read_source
from quantascope.priority import ModuleLosses
from quantascope.training import Trajectory
from quantascope.training.audit import Finding, audit
from quantascope.training.trajectory import find_checkpoints

MOST_RISING = 0.05
"""Share of rising steps above which a full-batch training is not smooth."""


@dataclass(frozen=True)
class AuditReport:
    """What is wrong with a run, and two figures of a source of ours."""

    path: Path
    checkpoints: int
    findings: list[Finding]
    rising_share: float | None = None
    first_order_account: float | None = None

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {**asdict(self), "path": str(self.path)}

    def text(self) -> str:
        """For people: one line for each finding."""
        lines = [f"{finding.kind}: {finding.says}" for finding in self.findings]
        if self.rising_share is not None:
            lines.append(f"the loss rose in {100 * self.rising_share:.1f} % of the steps")
        if self.first_order_account is not None:
            lines.append(f"first-order credit sums to {self.first_order_account:.2f} of the loss change (ΣP/ΔL)")
        verdict = f"{len(self.findings)} findings" if self.findings else "nothing wrong"
        return "\n".join([*lines, f"{self.path}: {self.checkpoints} checkpoints, {verdict}"])


def audit_run(path: Path) -> AuditReport:
    """Audit a run directory or any folder of checkpoints."""
    source = read_source(path) if _is_source(path) else None
    findings = audit(path, expected=source.config.training.checkpoints if source else ())
    checkpoints = len(find_checkpoints(path))
    if source is None or findings:
        return AuditReport(path, checkpoints, findings)
    rising, account = source.rising_share, first_order_account(source)
    if rising > MOST_RISING:
        says = f"the loss rose in {100 * rising:.1f} % of the steps: training is at the edge of stability"
        findings.append(Finding("rising loss", None, says))
    if not 0.5 <= account <= 2:
        says = f"ΣP/ΔL is {account:.3g}: the gradient rule does not hold here; discover with --rule path"
        findings.append(Finding("first order", None, says))
    return AuditReport(path, checkpoints, findings, rising, account)


def first_order_account(source: Source) -> float:
    """ΣP/ΔL of the gradient rule: Λ‖∇L‖² at the start of each interval, summed, over the fall of the loss."""
    trajectory: Trajectory = source.trajectory.at(source.config.interval_steps)
    losses = ModuleLosses(source.config.build())
    credit, values = 0.0, []
    for index in range(len(trajectory)):
        leaves = {name: value.requires_grad_() for name, value in trajectory.load(index).items()}
        loss = losses(leaves, source.events).mean()
        values.append(float(loss.detach()))
        if index < len(trajectory) - 1:
            gradient = torch.autograd.grad(loss, list(leaves.values()))
            credit += float(trajectory.learning_rate_mass[index] * sum(g.square().sum() for g in gradient))
    return credit / (values[0] - values[-1])


def _is_source(path: Path) -> bool:
    file = path / "config.json"
    found = read_json(file) if file.is_file() else None
    return isinstance(found, dict) and found.get("kind") == NamingSource.__name__
