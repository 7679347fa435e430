"""quantascope: see a network's training as the acquisition of discrete, reusable computations.

The public names are those of `__init__.pyi`, which type checkers read as well. They are loaded when first used,
so that the theory works without torch.

>>> import quantascope
>>> quantascope.Poset.from_edges(3, [(0, 1), (1, 2)]).ancestors(2)
array([0, 1])
"""

import ast
import importlib
import importlib.metadata
import sys
from pathlib import Path
from typing import Any

from quantascope.renamed import RenamedFinder, new_name, refusal

sys.meta_path.append(RenamedFinder)

_HOME = {
    name.name: statement.module
    for statement in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(statement, ast.ImportFrom) and statement.module
    for name in statement.names
}
__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.metadata.version("quantascope")
    if new := new_name(name):
        raise AttributeError(refusal(name, new))
    if name not in _HOME:
        raise AttributeError(f"quantascope has no '{name}'; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOME[name]), name)
