"""`Factors`: the quanta found in a priority field (paper, section 5.1).

A factor says which events a layer's update helped (the binary support a) and when (the nonnegative curve ρ):
P_ℓ(e, t) ≈ Σ_q a_ℓq(e) ρ_ℓq(t). Factors of one layer are ordered as they were found; new events are assigned in
the same order.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from quantascope.runs.artefact import read_tensors, write_tensors
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.runs.structure import check_tensors

_TENSORS = {
    "layer": "int factors",
    "supports": "bool factors events",
    "curves": "float factors intervals",
    "explained": "float factors",
}
_AGAIN = "find them again with quantascope discover"


@dataclass(frozen=True, kw_only=True, eq=False)
class Factors:
    """Supports and curves of the factors of all layers.

    `explained` is the share of the layer's squared priority that the factor removed when it was found; the shares
    of one layer add up.

    >>> one = Factors(
    ...     layer=np.array([0]),
    ...     supports=np.array([[True, False]]),
    ...     curves=np.array([[1.0, 4.0, 1.0]]),
    ...     explained=np.array([0.9]),
    ... )
    >>> len(one), one.demand, one.acquisition_interval, one.cumulative[0].round(2)
    (1, array([0.5]), array([1]), array([0.17, 0.83, 1.  ]))
    """

    layer: Int[np.ndarray, " factors"]
    supports: Bool[np.ndarray, "factors events"]
    curves: Float[np.ndarray, "factors intervals"]
    explained: Float[np.ndarray, " factors"]

    def __post_init__(self) -> None:
        if len(self) and self.layer.min() < 0:
            raise InvalidConfig(f"layer {self.layer.min()} of a factor is negative; give an index into the layers")
        fine = (np.isfinite(self.curves) & (self.curves >= 0)).all(1) & self.curves.any(1)
        if not fine.all():
            wrong = int(np.flatnonzero(~fine)[0])
            low, high = self.curves[wrong].min(), self.curves[wrong].max()
            raise InvalidConfig(
                f"curve {wrong} of the factors runs from {low:g} to {high:g}; "
                f"curves are finite, nonnegative and not all zero"
            )
        for name in _TENSORS:
            frozen = getattr(self, name).view()
            frozen.setflags(write=False)
            object.__setattr__(self, name, frozen)

    def __len__(self) -> int:
        return len(self.layer)

    @property
    def names(self) -> list[str]:
        """A name for each factor: its layer, and its number within it."""
        layers = self.layer.tolist()
        return [f"L{layer}.Q{layers[:place].count(layer)}" for place, layer in enumerate(layers)]

    @property
    def demand(self) -> Float[np.ndarray, " factors"]:
        """Share of the events in each support."""
        return self.supports.mean(1)

    @property
    def cumulative(self) -> Float[np.ndarray, "factors intervals"]:
        """Each curve's mass up to the end of each interval, as a share of its total."""
        sums = np.cumsum(self.curves, axis=1)
        return sums / sums[:, -1:]

    @property
    def acquisition_interval(self) -> Int[np.ndarray, " factors"]:
        """The first interval by whose end a curve has half of its mass."""
        return (self.cumulative >= 0.5).argmax(1)

    def chosen(self, which: Bool[np.ndarray, " factors"] | Int[np.ndarray, " some"]) -> "Factors":
        """The factors at these indices."""
        return replace(self, **{name: getattr(self, name)[which] for name in _TENSORS})

    def of_layer(self, layer: int) -> "Factors":
        """The factors of one layer, in the order in which they were found."""
        return self.chosen(self.layer == layer)

    def reconstruction(self, layer: int) -> Float[np.ndarray, "events intervals"]:
        """Σ_q a_q(e) ρ_q(t) of one layer."""
        own = self.of_layer(layer)
        return own.supports.T.astype(np.float64) @ own.curves

    def save(self, path: Path, *, made_by: str, **about: Any) -> None:
        """Save the factors with the hash of the config that made them and further facts."""
        tensors = {name: torch.from_numpy(getattr(self, name).copy()) for name in _TENSORS}
        write_tensors(path, tensors, made_by=made_by, **about)

    @classmethod
    def load(cls, path: Path, *, made_by: str | None) -> "Factors":
        """Load factors; `made_by` is the expected config hash, or None for any."""
        tensors, _ = read_tensors(path, made_by=made_by, remedy=_AGAIN)
        check_tensors(path, tensors, _TENSORS, remedy=_AGAIN)
        try:
            return cls(**{name: tensors[name].numpy() for name in _TENSORS})
        except InvalidConfig as error:
            raise DamagedArtefact(f"{path} holds no factors: {error}") from error
