"""One figure per claim, drawn from a reproduction's evidence."""

import io
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from quantascope.artefact import write_bytes
from quantascope.experiments import Reproduction
from quantascope.experiments.discovery import Discovery
from quantascope.experiments.trace import Trace
from quantascope.report.figures import (
    acquisition_clock,
    acquisition_order,
    child_parent_order,
    compiled_qmodel,
    composed_staircase,
    data_scaling,
    discovery,
    finite_size,
    flat_acquisition,
    guidance_data,
    guidance_programs,
    guided_training,
    hsp_demand,
    joint_frontier,
    message_interventions,
    number_naming_data,
    parameter_scaling,
    qmodel_frontier,
    recover_quanta,
    recovered_qmodel,
    seed_stability,
    semantics,
    source_faithfulness,
    trace,
)
from quantascope.report.figures.style import house_style

DRAWERS: dict[str, Callable[[Reproduction], Figure]] = {
    "flat-acquisition": flat_acquisition.draw,
    "composed-staircase": composed_staircase.draw,
    "child-parent-order": child_parent_order.draw,
    "acquisition-clock": acquisition_clock.draw,
    "hsp-demand": hsp_demand.draw,
    "parameter-scaling": parameter_scaling.draw,
    "data-scaling": data_scaling.draw,
    "joint-frontier": joint_frontier.draw,
    "finite-size": finite_size.draw,
    "number-naming-data": number_naming_data.draw,
    "recover-quanta": recover_quanta.draw,
    "ordering": acquisition_order.draw,
    "seed-stability": seed_stability.draw,
    "recovered-qmodel": recovered_qmodel.draw,
    "message-interventions": message_interventions.draw,
    "source-faithfulness": source_faithfulness.draw,
    "qmodel-frontier": qmodel_frontier.draw,
    "semantics": semantics.draw,
    "compiled-qmodel": compiled_qmodel.draw,
    "guided-training": guided_training.draw,
    "guidance-data-efficiency": guidance_data.draw,
    "guidance-other-programs": guidance_programs.draw,
}


def write_figure(reproduction: Reproduction) -> Path:
    """Draw the figure of a reproduced claim beside its result; the path of the picture."""
    file = reproduction.folder / "figure.png"
    with house_style():
        save_figure(DRAWERS[reproduction.result.claim](reproduction), file)
    return file


def save_figure(figure: Figure, file: Path) -> None:
    """Write a figure as a picture and, beside it, as vectors."""
    for suffix in (".svg", ".png"):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix[1:], metadata={"Date": None} if suffix == ".svg" else None)
        write_bytes(file.with_suffix(suffix), buffer.getvalue())


def write_trace(followed: Trace, file: Path) -> Path:
    """Draw a trace; the path of the picture."""
    with house_style():
        save_figure(trace.draw(followed), file)
    return file


def write_discovery(found: Discovery) -> Path:
    """Draw a discovery into its run directory; the path of the picture."""
    file = found.source.path / "discovery.png"
    with house_style():
        save_figure(discovery.draw(found), file)
    return file
