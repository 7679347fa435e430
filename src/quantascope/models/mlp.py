"""The task-conditioned ReLU MLP that learns hierarchical sparse parity (paper, section 4; appendix A).

A dense vector of signs and an opaque task identity go in, two logits come out. The identity acts through an
embedding row that is added to the first preactivation, which equals concatenating a one-hot code and costs a
gather instead of a wide product.

All parameters live in one flat tensor, so that an optimizer step is one fused kernel. `forward` is ordinary
differentiable PyTorch over named views of it; `loss_and_gradient` is the same function with its gradient
written out over reused buffers, which is what makes small networks train several times faster than
layer-by-layer autograd.

`MuMLPConfig` asks for the maximal-update parametrization (muP): initial weights, learning rates and a factor in
front of the readout change with width so that every layer moves as much at any width as it does at `base_width`.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from quantascope.runs.config import Config, Depth, Width
from quantascope.runs.errors import DamagedArtefact


class MLPConfig(Config):
    """Shape of a task-conditioned MLP and how its weights are drawn.

    The `paper` initialisation draws in the order of the paper's released code, whose distributions are the same.
    """

    LATER: ClassVar[tuple[str, ...]] = ("initialization",)

    width: Width = 256
    hidden_layers: Depth = 2
    initialization: Literal["default", "paper"] = "default"

    def parameter_count(self, sensors: int, tasks: int) -> int:
        """Parameters of the network.

        >>> MLPConfig(width=8, hidden_layers=5).parameter_count(sensors=100, tasks=504)
        5146
        """
        return sum(math.prod(shape) for shape in _shapes(sensors, tasks, self).values())

    @property
    def width_multiplier(self) -> float:
        """Width relative to the base width under muP; 1 otherwise."""
        return 1.0


class MuMLPConfig(MLPConfig):
    """The network under muP; at its base width it is the standard one.

    The `mup` package also wants a delta width, to see which axes grow. Here they are known by name.
    """

    base_width: Width = 8

    @property
    def width_multiplier(self) -> float:
        """Width relative to the base width."""
        return self.width / self.base_width


class TaskMLP(nn.Module):
    """A ReLU MLP over sensor signs, conditioned on a task identity.

    >>> model = TaskMLP(sensors=100, tasks=504, config=MLPConfig(width=8, hidden_layers=5), seed=0)
    >>> model.parameter_count
    5146
    >>> signs, task = torch.ones(3, 100), torch.tensor([0, 1, 2])
    >>> model(signs, task).shape
    torch.Size([3, 2])
    """

    def __init__(self, *, sensors: int, tasks: int, config: MLPConfig, seed: int) -> None:
        super().__init__()
        self.sensors, self.tasks, self.config = sensors, tasks, config
        self.shapes = _shapes(sensors, tasks, config)
        self.parameter_count = config.parameter_count(sensors, tasks)
        self.theta = nn.Parameter(torch.empty(self.parameter_count))
        if config.initialization == "paper":
            self._initialise_as_authors(seed)
        else:
            self._initialise(torch.Generator().manual_seed(seed))
        self._workspace: _Workspace | None = None
        self.register_state_dict_post_hook(_name_layers)
        self.register_load_state_dict_pre_hook(_join_layers)

    def networks(self) -> list["TaskMLP"]:
        """This one, as a cohort lists its members."""
        return [self]

    def _initialise(self, generator: torch.Generator) -> None:
        """PyTorch's default for linear layers, U(±1/√inputs); the first reads sensors and the one-hot task.

        Under muP, biases and readout keep the bound that they have at the base width.
        """
        for name, view in self.split(self.theta.detach()).items():
            layer = _layer_of(name)
            inputs = self.sensors + self.tasks if layer == 0 else self.config.width
            if layer > 0 and (name.startswith("bias") or layer == self.config.hidden_layers):
                inputs /= self.config.width_multiplier
            view.uniform_(-1 / math.sqrt(inputs), 1 / math.sqrt(inputs), generator=generator)

    @torch.no_grad()
    def _initialise_as_authors(self, seed: int) -> None:
        """Modules in turn with torch's defaults, then the first layer again as if it read one-hot tasks."""
        views = self.split(self.theta.detach())
        sizes = [self.sensors, *[self.config.width] * self.config.hidden_layers, 2]
        bound = 1 / math.sqrt(self.tasks + self.sensors)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            nn.Embedding(self.tasks, self.config.width)
            for layer, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
                drawn = nn.Linear(inputs, outputs)
                views[f"weight.{layer}"].copy_(drawn.weight)
                views[f"bias.{layer}"].copy_(drawn.bias)
            for name in ("embedding", "weight.0", "bias.0"):
                views[name].uniform_(-bound, bound)

    def rate_factor(self, name: str, optimizer: str) -> float:
        """The factor of muP for the learning rate of a named parameter.

        A parameter is a matrix if both its axes grow with width, a vector if one does.
        """
        wider, layer = self.config.width_multiplier, _layer_of(name)
        matrix = name.startswith("weight") and 0 < layer < self.config.hidden_layers
        fixed = name == f"bias.{self.config.hidden_layers}"
        if optimizer == "sgd":
            return 1.0 if matrix or fixed else wider
        return 1 / wider if matrix else 1.0

    def parameter_groups(self, optimizer: str) -> dict[float, list[Tensor]]:
        """Parameters by the factor of their rate: all of `theta`, or pieces that share its memory."""
        factors = {name: self.rate_factor(name, optimizer) for name in self.shapes}
        if len(set(factors.values())) == 1:
            return {factors["embedding"]: [self.theta]}
        if self.theta.grad is None:
            self.theta.grad = torch.zeros_like(self.theta)
        groups: dict[float, list[Tensor]] = {}
        start = 0
        for factor, names in itertools.groupby(self.shapes, key=lambda name: factors[name]):
            end = start + sum(math.prod(self.shapes[name]) for name in names)
            piece = self.theta.detach()[start:end]
            piece.grad = self.theta.grad[start:end]
            groups.setdefault(factor, []).append(piece)
            start = end
        return groups

    def split(self, flat: Tensor) -> dict[str, Tensor]:
        """Named views of a tensor laid out like the parameters."""
        sizes = [math.prod(shape) for shape in self.shapes.values()]
        parts = torch.split(flat, sizes)
        return {name: part.view(shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}

    def forward(
        self, signs: Float[Tensor, "batch sensors"], task: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch 2"]:
        """Logits of the labels 0 and 1."""
        return logits(self.split(self.theta), signs, task, readout_factor=1 / self.config.width_multiplier)

    @torch.no_grad()
    def loss_and_gradient(
        self,
        signs: Float[Tensor, "batch sensors"],
        task: Int[Tensor, " batch"],
        target: Float[Tensor, " batch"],
    ) -> Float[Tensor, ""]:
        """Mean cross-entropy in nats for targets ±1; its gradient replaces `theta.grad`."""
        grad = self.theta.grad
        serves = (self.theta.data_ptr(), 0 if grad is None else grad.data_ptr(), len(task))
        if self._workspace is None or self._workspace.serves != serves:
            self._workspace = _Workspace(self, len(task))
        return _loss_and_gradient(self._workspace, signs, task, target)


def logits(
    parameters: Mapping[str, Tensor],
    signs: Float[Tensor, "batch sensors"],
    task: Int[Tensor, " batch"],
    *,
    readout_factor: float = 1.0,
) -> Float[Tensor, "batch 2"]:
    """The network as a pure function of its named parameters."""
    conditioning = (parameters["embedding"] + parameters["bias.0"])[task]
    hidden = torch.addmm(conditioning, signs, parameters["weight.0"].T)
    layers = sum(name.startswith("weight.") for name in parameters)
    for layer in range(1, layers):
        factor = readout_factor if layer == layers - 1 else 1.0
        bias, weight = parameters[f"bias.{layer}"], parameters[f"weight.{layer}"]
        hidden = torch.addmm(bias, hidden.relu_(), weight.T, alpha=factor)
    return hidden


def _layer_of(name: str) -> int:
    """The layer of a named parameter; the embedding belongs to the first."""
    return int(name.split(".")[1]) if "." in name else 0


def _shapes(sensors: int, tasks: int, config: MLPConfig) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"embedding": (tasks, config.width)}
    inputs = sensors
    for layer in range(config.hidden_layers + 1):
        outputs = 2 if layer == config.hidden_layers else config.width
        shapes[f"weight.{layer}"], shapes[f"bias.{layer}"] = (outputs, inputs), (outputs,)
        inputs = outputs
    return shapes


class _Workspace:
    """Views and buffers for one batch size, made once and reused by every step."""

    def __init__(self, model: TaskMLP, batch: int) -> None:
        theta = model.theta
        if theta.grad is None:
            theta.grad = torch.zeros_like(theta)
        self.serves = (theta.data_ptr(), theta.grad.data_ptr(), batch)
        layers = range(model.config.hidden_layers + 1)
        values, gradients = model.split(theta.detach()), model.split(theta.grad)
        self.embedding, self.embedding_gradient = values["embedding"], gradients["embedding"]
        self.weight = [values[f"weight.{layer}"] for layer in layers]
        self.transposed = [weight.T for weight in self.weight]
        self.bias = [values[f"bias.{layer}"] for layer in layers]
        self.weight_gradient = [gradients[f"weight.{layer}"] for layer in layers]
        self.bias_gradient = [gradients[f"bias.{layer}"] for layer in layers]
        self.readout_factor = 1 / model.config.width_multiplier
        self.delta = [theta.new_empty(batch, model.config.width) for _ in range(2)]


def _loss_and_gradient(space: _Workspace, signs: Tensor, task: Tensor, target: Tensor) -> Tensor:
    """Forward and backward pass of `logits` under the two-way softmax, gradient into the workspace."""
    last = len(space.weight) - 1
    hidden = torch.index_select(space.embedding + space.bias[0], 0, task).addmm_(signs, space.transposed[0])
    activations = [signs, hidden.relu_()]
    for layer in range(1, last):
        hidden = torch.addmm(space.bias[layer], hidden, space.transposed[layer]).relu_()
        activations.append(hidden)
    # A two-way softmax depends on the difference of its logits alone.
    readout = (space.weight[last][1] - space.weight[last][0]).mul_(space.readout_factor)
    margin = torch.mv(hidden, readout).add_(space.bias[last][1] - space.bias[last][0]).mul_(target)
    slope = torch.sigmoid(-margin).mul_(target).mul_(-1 / len(task))

    torch.mv(hidden.T, slope, out=space.weight_gradient[last][1]).mul_(space.readout_factor)
    torch.neg(space.weight_gradient[last][1], out=space.weight_gradient[last][0])
    torch.sum(slope, 0, out=space.bias_gradient[last][1])
    torch.neg(space.bias_gradient[last][1], out=space.bias_gradient[last][0])
    delta, spare = space.delta
    torch.outer(slope, readout, out=delta)
    for layer in range(last - 1, -1, -1):
        torch.ops.aten.threshold_backward.grad_input(delta, activations[layer + 1], 0, grad_input=delta)
        torch.mm(delta.T, activations[layer], out=space.weight_gradient[layer])
        if layer:
            torch.sum(delta, 0, out=space.bias_gradient[layer])
            torch.mm(delta, space.weight[layer], out=spare)
            delta, spare = spare, delta
    space.embedding_gradient.zero_().index_add_(0, task, delta)
    torch.sum(space.embedding_gradient, 0, out=space.bias_gradient[0])
    return nn.functional.softplus(-margin).mean()


def _name_layers(model: TaskMLP, state: dict[str, Tensor], prefix: str, _: Any) -> None:
    flat = state.pop(f"{prefix}theta")
    state.update({f"{prefix}{name}": view for name, view in model.split(flat).items()})


def _join_layers(model: TaskMLP, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    parts = []
    for name, shape in model.shapes.items():
        part = state.pop(f"{prefix}{name}", None)
        if part is None or tuple(part.shape) != shape:
            found = "missing" if part is None else f"of shape {tuple(part.shape)}"
            raise DamagedArtefact(f"tensor '{name}' is {found}; this model needs shape {shape}")
        parts.append(part.reshape(-1))
    state[f"{prefix}theta"] = torch.cat(parts)
