"""Hierarchical sparse parity: forests of composed parities, their samplers and panels."""

from quantascope.tasks.hsp.authors import AuthorsBatches, authors_panel, authors_shared_panel
from quantascope.tasks.hsp.families import (
    ClosureDemand,
    ComposedFamily,
    DepthMass,
    Family,
    FlatFamily,
    LevelRatio,
    RegularFamily,
    ZipfDemand,
    build_forest,
)
from quantascope.tasks.hsp.forest import Forest
from quantascope.tasks.hsp.panel import Panel, balanced_panel, random_panel
from quantascope.tasks.hsp.sampler import Batch, FreshBatches, PackedTasks

__all__ = [
    "AuthorsBatches",
    "Batch",
    "ClosureDemand",
    "ComposedFamily",
    "DepthMass",
    "Family",
    "FlatFamily",
    "Forest",
    "FreshBatches",
    "LevelRatio",
    "PackedTasks",
    "Panel",
    "RegularFamily",
    "ZipfDemand",
    "authors_panel",
    "authors_shared_panel",
    "balanced_panel",
    "build_forest",
    "random_panel",
]
