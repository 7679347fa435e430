"""A network as one file: weights, and a description from which it is built again.

Every kind of network defines its description and how to build it; this module does the rest. The description is
part of the safetensors file, so weights and description cannot be mixed up, and reading executes nothing.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from quantascope.runs.artefact import read_tensors, write_tensors
from quantascope.runs.errors import DamagedArtefact, QuantascopeError

AnyModule = TypeVar("AnyModule", bound=nn.Module)
_KIND, _ABOUT = "kind", "about"


def save_model(path: Path, model: nn.Module, *, kind: str, about: Mapping[str, Any], made_by: str) -> None:
    """Save a network of a `kind` with everything needed to build it again; `made_by` is the hash of its config."""
    write_tensors(path, model.state_dict(), made_by=made_by, **{_KIND: kind, _ABOUT: dict(about)})


def load_model(
    path: Path,
    build: Callable[[Mapping[str, Any]], AnyModule],
    *,
    kind: str,
    make: str,
    made_by: str | None = None,
) -> tuple[AnyModule, dict[str, Any]]:
    """Load the network in a file, ready to run, and its description.

    Args:
        path: What `save_model` wrote.
        build: Makes the network from its description; its weights are replaced.
        kind: What the file must hold.
        make: The command that makes such a file.
        made_by: The config hash that it must carry; any if not given.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> save_model(file, nn.Linear(2, 1), kind="line", about={"inputs": 2}, made_by="example")
    >>> model, about = load_model(file, lambda about: nn.Linear(about["inputs"], 1), kind="line", make="…")
    >>> model.in_features, about
    (2, {'inputs': 2})
    """
    again = f"move it away, and {make} makes it again"
    tensors, facts = read_tensors(path, made_by=made_by, remedy=again)
    found, about = facts.get(_KIND), facts.get(_ABOUT)
    if found != kind:
        what = f"a {found}" if isinstance(found, str) else "other tensors"
        raise DamagedArtefact(f"{path} holds {what}, not a {kind}; give a file of {make}")
    if not isinstance(about, dict):
        raise DamagedArtefact(
            f"{path} was written by an older version of quantascope, which kept its description elsewhere; move "
            f"it away, and {make} makes it again"
        )
    for device in ("meta", "cpu"):  # first without memory, since a wrong description could need too much
        try:
            with torch.device(device):
                model = build(about)
        except NotImplementedError:
            if device == "meta":  # a network of a user's may compute while it is built
                continue
            raise
        except (LookupError, TypeError, ValueError, ArithmeticError, RuntimeError, QuantascopeError) as error:
            raise DamagedArtefact(f"{path} does not describe a {kind} ({error!r}); {again}") from error
        if wrong := _misfit(model.state_dict(), tensors):
            raise DamagedArtefact(f"{path} does not hold the weights of its {kind}: {wrong}; {again}")
    model.load_state_dict(tensors)
    return model.eval(), about


def _misfit(asked: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> str:
    """A description of the first tensor that does not fit the network; empty if all fit."""
    for name in sorted({*asked, *found}):
        if name not in found:
            return f"'{name}' is missing"
        if name not in asked:
            return f"'{name}' is not part of it"
        want, have = asked[name], found[name]
        if (want.shape, want.dtype) != (have.shape, have.dtype):
            return f"'{name}' is {have.dtype} {list(have.shape)}, not {want.dtype} {list(want.shape)}"
        if have.is_floating_point() and not bool(torch.isfinite(have).all()):
            return f"'{name}' has values that are not finite"
    return ""
