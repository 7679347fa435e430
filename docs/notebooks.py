"""The tutorials: run their notebooks, keep the outputs, and show them on the site.

    python docs/notebooks.py                    runs every notebook in docs/tutorials and keeps what it shows

A notebook is JSON, and its code is plain Python, so neither needs Jupyter. A cell shows what it prints, then the
value of its last expression: a figure as a picture, anything else as text.
"""

import ast
import base64
import contextlib
import io
import json
import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

FOLDER = Path(__file__).parent / "tutorials"
SIZES = "sizes"
"""The tag of a cell that says how large everything is; tests take less."""


def read(path: Path) -> dict[str, Any]:
    """The notebook in a file."""
    return json.loads(path.read_text(encoding="utf-8"))


def run(notebook: dict[str, Any], sizes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The notebook with the outputs of its code, run in an empty folder; `sizes` replace those of its cell."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown, count, here = [], 0, Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in notebook["cells"]:
                if cell["cell_type"] != "code":
                    shown.append(cell)
                    continue
                count += 1
                outputs = _outputs("".join(cell["source"]), names, count)
                shown.append({**cell, "execution_count": count, "outputs": outputs})
                if SIZES in cell["metadata"].get("tags", ()):
                    names.update(sizes or {})
        finally:
            os.chdir(here)
    return {**notebook, "cells": shown}


def _outputs(code: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What a cell shows: its prints, and the value of its last expression unless that ends in a semicolon."""
    tree, printed, value = ast.parse(code), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None and not code.rstrip().endswith(";"):
        data = _picture(value) if isinstance(value, Figure) else {"text/plain": _lines(str(value))}
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return outputs


def _picture(figure: Figure) -> dict[str, Any]:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=90, bbox_inches="tight", metadata={"Software": None})
    return {"image/png": base64.b64encode(out.getvalue()).decode(), "text/plain": ["a figure"]}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def markdown(notebook: Mapping[str, Any]) -> str:
    """The notebook as a Markdown page, with its outputs.

    >>> print(markdown({"cells": [{"cell_type": "code", "source": ["1 + 1"], "outputs": [
    ...     {"data": {"text/plain": ["2"]}}]}]}))
    ```python
    1 + 1
    ```
    <BLANKLINE>
    ```text
    2
    ```
    """
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                parts.append(f"![What the cell draws](data:image/png;base64,{data['image/png']})")
            else:
                text = "".join(output["text"] if "text" in output else data["text/plain"])
                parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts)


def setup(app: Any) -> dict[str, bool]:
    """As an extension of Sphinx: a page for every notebook."""
    from myst_parser.parsers.sphinx_ import MystParser

    class NotebookParser(MystParser):
        supported = ("notebook",)

        def parse(self, inputstring: str, document: Any) -> None:
            super().parse(markdown(json.loads(inputstring)), document)

    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        kept = json.dumps(run(read(path)), indent=1, ensure_ascii=False)
        path.write_text(kept + "\n", encoding="utf-8")
        print(path)
