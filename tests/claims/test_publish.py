"""Publication of results, whole or a few seeds at a time."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from quantascope.claims import publish
from quantascope.claims.claim import Claim, Reproduction, no_summary, reproduce
from quantascope.claims.more_seeds import is_part, with_more_seeds
from quantascope.claims.publish import check_publishable, publish_result
from quantascope.claims.result import Estimate, Result
from quantascope.runs.config import Config, FurtherSeeds, Seeds
from quantascope.runs.errors import InvalidConfig


class Squares(Config):
    """A claim that measures without training."""

    seeds: Seeds = (1, 2, 3, 4)
    further_seeds: FurtherSeeds = (9,)
    power: int = 2


def measure(config: Squares, evidence: object) -> dict[str, Estimate]:
    """One value per seed, undefined for seed 3."""
    values = [float("nan") if seed == 3 else float(seed**config.power) for seed in config.seeds]
    more = [float(seed) for seed in (*config.seeds, *config.further_seeds)]
    return {"power": Estimate.over_runs("power", values), "seed": Estimate.over_runs("seed", more)}


CLAIM = Claim(
    name="squares",
    says="squares grow",
    presets={"full": Squares()},
    runs=lambda config: {},
    prepare=lambda job: None,
    work=lambda job, path, progress, device: None,
    steps=lambda job: 0,
    measure=measure,
    summary=lambda figures: {
        "largest": Estimate.over_runs("largest", [max(figures["power"].values, default=np.nan)])
    },
)


@pytest.fixture(autouse=True)
def drawn(monkeypatch) -> None:
    """The claim has no file of its own, so a curve of its values is its figure."""

    def write_figure(done: Reproduction) -> Path:
        figure = Figure()
        figure.subplots().plot(done.result.figures["power"].values)
        for suffix in (".png", ".svg"):
            figure.savefig(done.folder / f"figure{suffix}", metadata={"Date": None} if suffix == ".svg" else {})
        return done.folder / "figure.png"

    monkeypatch.setattr(publish, "write_figure", write_figure)


def done(folder: Path, claim: Claim = CLAIM, **changes: object) -> Reproduction:
    """The claim reproduced with some of its settings changed."""
    config = Squares().replace(changes)
    with ThreadPoolExecutor(1) as engine:
        found = reproduce(claim, config, preset="full", folder=folder, engine=engine)
    publish.write_figure(found)
    return found


def test_seeds_published_in_parts_give_the_result_of_all_seeds_at_once(tmp_path):
    whole = done(tmp_path / "whole").result
    parts = {"a": ([1, 2], []), "b": ([3], [9]), "c": ([4], [])}
    for name, (seeds, further) in parts.items():
        part = done(tmp_path / name, seeds=seeds, further_seeds=further)
        check_publishable(CLAIM, part.config, "full")
        published = publish_result(CLAIM, part, tmp_path / "results")
    found = Result.load(tmp_path / "results" / "squares-full.json")
    assert found == published
    assert found.config == whole.config
    for key, figure in whole.figures.items():
        assert sorted(found.figures[key].values) == sorted(figure.values)
        assert (found.figures[key].mean, found.figures[key].undefined) == (figure.mean, figure.undefined)
        assert found.figures[key].low == pytest.approx(figure.low)
    assert found.figures["largest"].values == (16.0,)


def test_the_published_figure_shows_all_seeds(tmp_path):
    for name, seeds in {"a": [1, 2], "b": [4]}.items():
        publish_result(CLAIM, done(tmp_path / name, seeds=seeds, further_seeds=[]), tmp_path / "results")
    together = done(tmp_path / "whole", seeds=[1, 2, 4], further_seeds=[])
    drawn = (tmp_path / "results" / "figures" / "squares-full.png").read_bytes()
    assert drawn == (together.folder / "figure.png").read_bytes()
    assert drawn != (tmp_path / "b" / "figure.png").read_bytes()


def test_a_result_in_parts_may_keep_the_picture_of_its_first_part(tmp_path):
    claim = replace(CLAIM, keeps_figure=True)
    for name, seeds in {"a": [1, 2], "b": [4]}.items():
        part = done(tmp_path / name, claim, seeds=seeds, further_seeds=[])
        published = publish_result(claim, part, tmp_path / "results")
    assert published.figures["power"].values == (1.0, 4.0, 16.0)
    kept = (tmp_path / "results" / "figures" / "squares-full.png").read_bytes()
    assert kept == (tmp_path / "a" / "figure.png").read_bytes()
    assert Result.load(tmp_path / "results" / "squares-full.json") == published


def test_seeds_inside_a_section_are_joined_and_those_of_fits_are_not_counted_twice():
    preset = {"models": {"seeds": [0, 1, 2], "fit_seeds": [0, 1], "steps": 5}}
    first = {"models": {"seeds": [0], "fit_seeds": [0, 1], "steps": 5}}
    second = {"models": {"seeds": [2], "fit_seeds": [0], "steps": 5}}
    assert is_part(first, preset)
    assert is_part(second, preset)
    assert not is_part({"models": {**second["models"], "steps": 6}}, preset)
    made = {"trained_at": "x"}
    figures = {"f": Estimate.over_runs("f", [1.0])}
    results = [Result("c", "full", config, figures, made) for config in (first, second)]
    claim = replace(CLAIM, summary=no_summary)
    joined = with_more_seeds(claim, *results)
    assert joined.config == {"models": {"seeds": [0, 2], "fit_seeds": [0, 1], "steps": 5}}
    assert joined.figures["f"].values == (1.0, 1.0)
    with pytest.raises(InvalidConfig, match=r"has seeds \[0\] already"):
        with_more_seeds(claim, results[0], results[0])


def test_a_seed_that_is_published_is_not_added_again(tmp_path):
    for name, seeds in {"a": [1, 2], "b": [2, 4]}.items():
        part = done(tmp_path / name, seeds=seeds, further_seeds=[])
        if name == "a":
            publish_result(CLAIM, part, tmp_path / "results")
    with pytest.raises(InvalidConfig, match=r"has seeds \[2\] already; leave them out"):
        publish_result(CLAIM, part, tmp_path / "results")
    replaced = publish_result(CLAIM, part, tmp_path / "results", replace=True)
    assert replaced == part.result


@pytest.mark.parametrize("changes", [{"power": 3}, {"seeds": [5]}, {"seeds": [1], "power": 3}])
def test_other_changes_of_a_preset_are_not_published(changes):
    with pytest.raises(InvalidConfig, match="settings of the full preset were changed"):
        check_publishable(CLAIM, Squares().replace(changes), "full")
