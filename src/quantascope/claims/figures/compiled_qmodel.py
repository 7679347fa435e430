"""Figure of the compiled-qmodel claim."""

from matplotlib.figure import Figure

from quantascope.claims.claim import Reproduction
from quantascope.claims.compiled_qmodel import PANELS
from quantascope.claims.figures.guided_training import accuracy_panel
from quantascope.report.figures.style import panels, title


def draw(reproduction: Reproduction) -> Figure:
    """The accuracy of the Q-model beside that of a Transformer of its size."""
    figure, (accuracy,) = panels(1, width=7.0)
    rows = {
        "transformer_exact": "Transformer,\n5 blocks",
        "exact": "Q-model",
        "exact_oracle": "Q-model,\noracle",
        "narrow_exact": "narrow\nchannels",
        "narrow_exact_oracle": "narrow,\noracle",
        "exact_last": "Q-model,\nlast step",
    }
    rows = {row: says for row, says in rows.items() if row in reproduction.result.figures}
    accuracy_panel(
        accuracy,
        reproduction.result,
        {row: f"{{panel}}{row}" for row in rows},
        list(rows.values()),
        {"" if panel == "balanced" else f"{panel}_": says for panel, says in PANELS.items()},
    )
    title(accuracy, "a", "exact names, held-out numbers")
    return figure
