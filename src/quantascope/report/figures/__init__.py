"""Figures of runs: discoveries, traces and interventions."""

import io
import re
from pathlib import Path

from matplotlib.figure import Figure

from quantascope.discovery.discover import Discovery
from quantascope.qmodel.recovered.intervene import Interventions
from quantascope.qmodel.recovered.trace import Trace
from quantascope.report.figures import discovery, interventions, trace
from quantascope.report.figures.style import house_style, legible
from quantascope.runs.config import fingerprint
from quantascope.runs.files import write_bytes
from quantascope.runs.run_directory import locked


def save_figure(figure: Figure, file: Path) -> None:
    """Save a figure as PNG and as a vector file."""
    legible(figure)
    for suffix in (".svg", ".png"):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix[1:], metadata={"Date": None} if suffix == ".svg" else None)
        write_bytes(file.with_suffix(suffix), buffer.getvalue())


def write_trace(followed: Trace, file: Path) -> Path:
    """Draw a trace into a Q-model's folder; the path of the picture."""
    with locked(file.parent), house_style():
        save_figure(trace.draw(followed), file)
    return file


def trace_file(folder: Path, text: str) -> Path:
    """The file of a trace's figure, with a name that is safe for any file system."""
    kept = re.sub(r"[^A-Za-z0-9+-]+", "-", text)[:40].strip("-") or "input"
    apart = "" if kept == text else f"-{fingerprint(text)[:6]}"
    return folder / f"trace-{kept}{apart}.png"


def write_interventions(done: Interventions, file: Path) -> Path:
    """Draw interventions into a Q-model's folder; the path of the picture."""
    with locked(file.parent), house_style():
        save_figure(interventions.draw(done), file)
    return file


def write_discovery(found: Discovery) -> Path:
    """Draw a discovery into its run directory; the path of the picture."""
    file = found.source.folder / "discovery.png"
    with house_style():
        save_figure(discovery.draw(found), file)
    return file
