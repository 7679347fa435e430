"""The figure of a discovery with many quanta, from planted fields: nothing covers anything."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from quantascope.discovery import Factors, PriorityField
from quantascope.discovery.discover import Discovery
from quantascope.discovery.planted import PlantedConfig, plant
from quantascope.programs import find_task
from quantascope.report.discovery import print_discovery
from quantascope.report.figures import discovery
from quantascope.report.figures.style import VERMILLION, house_style
from quantascope.sources.source import Source
from quantascope.tasks.task import ExampleTask
from quantascope.training import Trajectory

LAYERS, EACH = 5, 12


def planted_layers(events):
    config = PlantedConfig(factors=EACH, events=events, intervals=40)
    return [plant(config.replace({"seed": seed})) for seed in range(LAYERS)]


class PlantedDiscovery(Discovery):
    """Sixty quanta that nobody had to find."""

    @property
    def complexity(self):
        return self.factors.demand * 100


def planted_discovery(task) -> PlantedDiscovery:
    """Quanta of a task's training events; no checkpoint is ever read."""
    source = Source(
        folder=Path("run"),
        identity="planted",
        trajectory=Trajectory.of_files({step: Path(f"{step}") for step in (0, 1)}),
        losses=lambda tensors, batch: tensors["none"],
        layers={"all": "*"},
        task=task,
    )
    events = len(source.labels())
    planted = planted_layers(events)
    factors = Factors(
        layer=np.repeat(np.arange(LAYERS), EACH),
        supports=np.concatenate([one.supports for one in planted]),
        curves=np.concatenate([one.curves for one in planted]),
        explained=np.full(LAYERS * EACH, 0.05),
    )
    field = PriorityField(
        rule="path",
        layers=tuple(f"block {layer}" for layer in range(LAYERS)),
        steps=np.arange(41) * 125,
        values=np.concatenate([one.values for one in planted]),
        other=np.zeros((events, 40)),
        losses=np.tile(np.exp(-np.arange(41) / 12), (events, 1)),
    )
    return PlantedDiscovery(source, 0.03, field, field, known=factors)


def drawn(found):
    with house_style():
        figure = discovery.draw(found)
        FigureCanvasAgg(figure).draw()
    return figure


@pytest.fixture(scope="module")
def figure():
    return drawn(planted_discovery(find_task("number-naming")))


def test_the_names_of_many_quanta_do_not_run_into_each_other(figure):
    boxes = [label.get_window_extent() for label in figure.axes[3].get_yticklabels()]
    assert len(boxes) == 60
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))


def test_legends_cover_no_curve_and_no_point(figure):
    for axes in figure.axes[:3]:
        assert not axes.get_legend().get_window_extent().overlaps(axes.get_window_extent())


def test_rule_threshold_and_what_cells_are_shares_of_are_on_the_figure(figure):
    assert figure.axes[0].get_title(loc="left").endswith("60 quanta: path rule, threshold 0.03")
    assert figure.axes[3].get_title(loc="left").endswith("which predictions each quantum helps, by label")
    assert figure.axes[4].get_ylabel() == "share of its events in the support"


def test_no_layer_has_the_colour_of_the_held_out_improvement(figure):
    (improvement,) = [line for line in figure.axes[0].lines if line.get_label() == "held-out improvement"]
    assert improvement.get_color() == VERMILLION
    assert VERMILLION not in {line.get_color() for line in figure.axes[0].lines if line is not improvement}


WORDS = [f"Ġword{chr(97 + one // 26)}{chr(97 + one % 26)}" for one in range(80)]
NUMBERS = [str(number) for number in range(100, 160)]
ODD = ["$x$", "$_{", "\t", "\x1b[31m", "[/INST]", "ĠĠ", "!?", "<s>", "a very long label " * 9, "\u202eabc", ""]
OFTEN = [WORDS[0], NUMBERS[0], *ODD]
"""Labels that come more often than the others, so that each stands by itself."""


@pytest.fixture(scope="module")
def many_labels():
    """Quanta of a source with 151 labels, as a vocabulary of tokens has them."""
    labels = [*WORDS, *NUMBERS, *OFTEN * 3]
    return planted_discovery(
        ExampleTask(examples={"training": np.zeros(len(labels))}, classes={"training": labels})
    )


@pytest.fixture(scope="module")
def map_of_many(many_labels):
    return drawn(many_labels).axes[3]


def test_many_labels_stand_below_the_map_by_class_and_the_commonest_by_themselves(map_of_many):
    shown = [label.get_text() for label in map_of_many.get_xticklabels()]
    assert len(shown) == len(set(shown)) <= discovery.MOST_WORDS
    assert {"␣wordaa", "100", "[/INST]", "other letters", "other digits"} <= set(shown)
    # What begins a word is letters, not mixed text, whatever stands for its space.
    assert "other mixed text" not in shown


def test_many_labels_do_not_run_into_each_other_and_leave_room_for_the_map(map_of_many):
    # Rotated labels are parallel: neighbours touch if their anchors are nearer than a line is high, slanted.
    height, slope = 9 / 72 * map_of_many.figure.dpi, np.sin(np.deg2rad(60))
    anchors = map_of_many.transData.transform([(place, 0) for place in map_of_many.get_xticks()])[:, 0]
    assert (np.diff(anchors) * slope > height).all()
    canvas = map_of_many.figure.bbox
    for label in map_of_many.get_xticklabels():
        box = label.get_window_extent()
        assert box.y0 >= canvas.y0
        assert box.x0 >= canvas.x0
    assert map_of_many.get_window_extent().height > 0.6 * 60 * 0.17 * map_of_many.figure.dpi


def test_a_share_of_a_class_is_over_all_events_of_its_labels(many_labels, map_of_many):
    shown = [label.get_text() for label in map_of_many.get_xticklabels()]
    kept = {word for word in shown if not word.startswith("other")}
    rest = np.array([label.isdecimal() and label not in kept for label in many_labels.labels])
    order = np.lexsort((many_labels.factors.layer, many_labels.acquired))
    expected = many_labels.factors.supports[order][:, rest].mean(1)
    found = map_of_many.images[0].get_array()[:, shown.index("other digits")]
    np.testing.assert_allclose(found, expected)


def test_a_table_of_strange_labels_holds_no_control_characters_and_loses_no_brackets(many_labels, capsys):
    print_discovery(many_labels)
    printed = capsys.readouterr().out
    assert "[/INST]" in printed
    assert not {sign for sign in printed if sign < " " and sign != "\n"} | ({"\u202e"} & {*printed})
