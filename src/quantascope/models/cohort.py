"""`Cohort`: networks of several widths that learn from the same batches, as one model.

They share the drawing of batches and one optimizer, and nothing else. A network that
diverges is filled with NaN and leaves the others as they are.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from quantascope.models.mlp import TaskMLP


class Cohort(nn.Module):
    """Task-conditioned MLPs in the order given.

    >>> from quantascope.models import MuMLPConfig
    >>> cohort = Cohort([TaskMLP(sensors=4, tasks=3, config=MuMLPConfig(width=w), seed=0) for w in (8, 16)])
    >>> cohort.loss_and_gradient(torch.ones(5, 4), torch.zeros(5, dtype=torch.long), torch.ones(5)).shape
    torch.Size([2])
    """

    members: nn.ModuleList

    def __init__(self, members: Sequence[TaskMLP]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def networks(self) -> list[TaskMLP]:
        """The members, with their type."""
        return [member for member in self.members if isinstance(member, TaskMLP)]

    def parameter_groups(self, optimizer: str) -> dict[float, list[Tensor]]:
        """The parameter groups of all members."""
        groups: dict[float, list[Tensor]] = {}
        for member in self.networks():
            for factor, pieces in member.parameter_groups(optimizer).items():
                groups.setdefault(factor, []).extend(pieces)
        return groups

    def loss_and_gradient(
        self,
        signs: Float[Tensor, "batch sensors"],
        task: Int[Tensor, " batch"],
        target: Float[Tensor, " batch"],
    ) -> Float[Tensor, " members"]:
        """Mean cross-entropy of each member in nats; the gradients replace those of the members."""
        return torch.stack([member.loss_and_gradient(signs, task, target) for member in self.networks()])
