"""Assigns parameters to layers."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from torch import Tensor

from quantascope.runs.errors import InvalidConfig
from quantascope.sources.losses import TiedLosses

Groups = Mapping[str, str | Sequence[str]]
"""Layer names with their parameters: a name or pattern with * and ?, or several."""


def resolve_groups(
    groups: Groups, tensors: Mapping[str, Tensor], losses: TiedLosses | None = None
) -> dict[str, tuple[str, ...]]:
    """The parameters of each layer; raises if a layer is empty or two layers share a parameter."""
    aliases, buffers = (losses.aliases, losses.buffers) if losses else ({}, frozenset())
    floating = {name: aliases.get(name, name) for name, value in tensors.items() if value.is_floating_point()}
    parameters = {name: one for name, one in floating.items() if one not in buffers}
    parameters |= {alias: one for alias, one in aliases.items() if one in parameters}
    members: dict[str, tuple[str, ...]] = {}
    owner: dict[str, str] = {}
    for layer, given in groups.items():
        patterns = [given] if isinstance(given, str) else list(given)
        matched = (one for name, one in parameters.items() if any(fnmatchcase(name, by) for by in patterns))
        names = tuple(dict.fromkeys(matched))
        if not names:
            some = ", ".join(list(parameters)[:3])
            raise InvalidConfig(
                f"layer '{layer}' ({', '.join(patterns)}) matches no parameter; the parameters are {some}, …"
            )
        for name in names:
            if name in owner:
                tied = "".join(f", tied to '{alias}'," for alias, one in aliases.items() if one == name)
                raise InvalidConfig(
                    f"parameter '{name}'{tied} is in layer '{owner[name]}' and in '{layer}'; assign it to one"
                )
            owner[name] = layer
        members[layer] = names
    if not members:
        raise InvalidConfig("a priority field needs at least one layer; name some parameters")
    return members
