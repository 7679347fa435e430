"""The figure of a discovery with many quanta, from planted fields: nothing covers anything."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from quantascope.discovery import Factors, PriorityField
from quantascope.discovery.discover import Discovery
from quantascope.discovery.planted import PlantedConfig, plant
from quantascope.report.figures import discovery
from quantascope.report.figures.style import VERMILLION, house_style
from quantascope.sources.trained import NamingSource, Source
from quantascope.training import History

LAYERS, EACH = 5, 12


class PlantedDiscovery(Discovery):
    """Sixty quanta that nobody had to find."""

    def __post_init__(self):
        config = PlantedConfig(factors=EACH, events=self.source.events.count, intervals=40)
        planted = [plant(config.replace({"seed": seed})) for seed in range(LAYERS)]
        factors = Factors(
            layer=np.repeat(np.arange(LAYERS), EACH),
            supports=np.concatenate([one.supports for one in planted]),
            curves=np.concatenate([one.curves for one in planted]),
            explained=np.full(LAYERS * EACH, 0.05),
        )
        object.__setattr__(self, "factors", factors)

    @property
    def complexity(self):
        return self.factors.demand * 100


@pytest.fixture(scope="module")
def figure():
    source = Source(NamingSource(), Path(), History(np.arange(1), np.zeros(1), {}))
    events = source.events.count
    field = PriorityField(
        rule="path",
        layers=tuple(f"block {layer}" for layer in range(LAYERS)),
        steps=np.arange(41) * 125,
        values=np.zeros((LAYERS, events, 40)),
        other=np.zeros((events, 40)),
        losses=np.tile(np.exp(-np.arange(41) / 12), (events, 1)),
    )
    with house_style():
        drawn = discovery.draw(PlantedDiscovery(source, 0.03, field, field))
        FigureCanvasAgg(drawn).draw()
    return drawn


def test_the_names_of_many_quanta_do_not_run_into_each_other(figure):
    boxes = [label.get_window_extent() for label in figure.axes[3].get_yticklabels()]
    assert len(boxes) == 60
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))


def test_legends_cover_no_curve_and_no_point(figure):
    for axes in figure.axes[:3]:
        assert not axes.get_legend().get_window_extent().overlaps(axes.get_window_extent())


def test_rule_threshold_and_what_cells_are_shares_of_are_on_the_figure(figure):
    assert figure.axes[0].get_title(loc="left").endswith("60 quanta: path rule, threshold 0.03")
    assert figure.axes[4].get_ylabel() == "events in the support / all events of the word"


def test_no_layer_has_the_colour_of_the_held_out_improvement(figure):
    (improvement,) = [line for line in figure.axes[0].lines if line.get_label() == "held-out improvement"]
    assert improvement.get_color() == VERMILLION
    assert VERMILLION not in {line.get_color() for line in figure.axes[0].lines if line is not improvement}
