"""No code that runs a network makes a tensor without saying on which device."""

import ast
from collections.abc import Iterator
from pathlib import Path

import torch

import quantascope

SOURCE = Path(quantascope.__file__).parent
ROOMS = ("models", "acquisition", "discovery", "qmodel", "guidance")
FACTORIES = {
    "arange", "as_tensor", "empty", "empty_strided", "eye", "from_numpy", "full", "linspace", "logspace", "normal",
    "ones", "rand", "randint", "randn", "randperm", "scalar_tensor", "tensor", "tril_indices", "triu_indices",
    "zeros",
}  # fmt: skip
ON_THE_CPU = {
    # Weights of a network that is built; it is moved as a whole.
    "qmodel/cell.py _linear",
    "qmodel/compiled/authors.py authors_heads",
    "qmodel/recovered/model.py _uniform",
    # What is drawn or read on the CPU and moved by who asked for it.
    "guidance/alignment.py _derangement",
    "guidance/alignment.py _is_identity",
    "guidance/alignment.py of",
    "guidance/alignment.py semi_orthogonal",
    "guidance/alignment.py shuffled_over_events",
    "guidance/lesson.py in_tokens",
    "models/predictions.py sampled",
    "qmodel/compiled/supervision.py of",
    "qmodel/recovered/intervened.py drawn_surgery",
    "qmodel/recovered/packing.py packing_of",
    "qmodel/recovered/replay.py existence",
    "qmodel/recovered/replay.py supports",
    "qmodel/recovered/interventions.py partner_rows",
    "qmodel/recovered/preview.py _donor",
    "qmodel/recovered/source_effects.py compare",
    "qmodel/recovered/source_effects.py compare_quanta",
    # Results, files and checks, in which no network takes part.
    "discovery/differences.py _derivative",
    "discovery/factors.py save",
    "discovery/field.py save",
    "guidance/network.py check_network",
    "guidance/target.py check_target",
    "qmodel/recovered/fidelity.py activity",
    "qmodel/recovered/interventions.py interval",
}


def without_device(node: ast.AST, function: str = "") -> Iterator[str]:
    """The functions that call a factory of torch without a device, by name."""
    if isinstance(node, ast.FunctionDef):
        function = node.name
    made = isinstance(node, ast.Call) and ast.unparse(node.func) in {f"torch.{name}" for name in FACTORIES}
    if made and not any(keyword.arg == "device" for keyword in node.keywords):
        yield function
    for child in ast.iter_child_nodes(node):
        yield from without_device(child, function)


def test_the_factories_are_those_of_torch():
    assert all(hasattr(torch, name) for name in FACTORIES)


def test_a_factory_without_a_device_is_found():
    program = "def forward(self):\n    return torch.zeros(2) + torch.ones(2, device=self.device)"
    assert list(without_device(ast.parse(program))) == ["forward"]


def test_every_factory_outside_constructors_names_its_device_or_is_known_to_work_on_the_cpu():
    found = {
        f"{file.relative_to(SOURCE)} {function}"
        for room in ROOMS
        for file in sorted((SOURCE / room).rglob("*.py"))
        for function in without_device(ast.parse(file.read_text()))
        if function != "__init__"
    }
    assert found == ON_THE_CPU
