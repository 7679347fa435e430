"""The trusted-qmodel claim, on sources that train in a second."""

import numpy as np
import pytest
import torch

from quantascope.claims.claim import Reproduction
from quantascope.claims.more_seeds import with_more_seeds
from quantascope.claims.recovered_models import fitted_source
from quantascope.claims.register import CLAIMS
from quantascope.claims.result import Result
from quantascope.claims.source_faithfulness import PANEL
from quantascope.claims.trusted_qmodel import AIMS, TrustedQModel, decided_lowest, runs
from quantascope.discovery.measure import measure_field
from quantascope.qmodel.recovered.config import FIT_PRESETS, Pool
from quantascope.qmodel.recovered.fidelity import every_event, through_time
from quantascope.qmodel.recovered.source_effects import compare_quanta

CLAIM = CLAIMS["trusted-qmodel"]


@pytest.fixture(scope="module")
def config(models):
    short = {
        "updates": 10,
        "parts": 6,
        "threshold": 0.02,
        "pool": Pool(numbers=12, inputs=6, continued_by="sampled"),
    }
    fit = FIT_PRESETS["trusted"].model_copy(update=short)
    return TrustedQModel(source=models.source, seeds=(0, 1), fit=fit, every=32)


@pytest.fixture(scope="module")
def evidence(config, runs_folder):
    found = {label: fitted_source(job, runs_folder / label) for label, job in runs(config).items()}
    for fitted in found.values():
        measure_field(fitted.runs[0].source, "path", "priority")
    return found


@pytest.fixture(scope="module")
def figures(config, evidence):
    return CLAIM.measure(config, evidence)


def test_every_aim_is_measured_for_each_source(figures):
    assert figures.keys() >= AIMS.keys()
    assert {len(one.values) + one.undefined for one in figures.values()} == {2}


def test_a_figure_of_a_source_is_the_mean_of_its_fits(evidence, figures):
    found = [np.mean([len(run.model.channels.edges) for run in one.runs]) for one in evidence.values()]
    assert figures["channels"].values == pytest.approx(found)


def test_effects_of_the_units_stand_beside_those_of_the_same_units_before_the_fit(config, evidence, figures):
    for place, fitted in enumerate(evidence.values()):
        found = []
        for run in fitted.runs:
            start, source = run.unfitted(), run.source.model()
            assert start.layers == run.model.layers
            assert not torch.equal(start.direction, run.model.direction)
            events = every_event(run.source, PANEL, config.every)
            found.append(compare_quanta(start, source, events).correlation("message"))
        assert figures["correlation_quanta_unfitted"].values[place] == pytest.approx(np.mean(found))


def test_channels_of_refits_are_compared(evidence, figures):
    for place, fitted in enumerate(evidence.values()):
        one, other = (run.model.channels.open.numpy() for run in fitted.runs)
        joined = (one | other).sum()
        assert figures["edge_agreement"].values[place] == pytest.approx(
            (one & other).sum() / joined if joined else 1
        )


def test_the_lowest_agreement_is_that_of_the_worst_checkpoint(evidence):
    run = evidence["trusted-0"].runs[0]
    decided = [share for share in through_time(run)["decided"] if np.isfinite(share)]
    lowest = decided_lowest(run)
    assert lowest == pytest.approx(100 * min(decided)) if decided else np.isnan(lowest)


def test_results_of_different_sources_are_joined_and_drawn(config, evidence, figures, drawn, runs_folder):
    parts = []
    for seed, (label, fitted) in enumerate(evidence.items()):
        part = config.model_copy(update={"seeds": (seed,)})
        parts.append(
            Result.of(CLAIM.name, "full", part, CLAIM.measure(part, {label: fitted}), {"trained_at": "x"})
        )
    joined = with_more_seeds(CLAIM, *parts)
    assert joined.config["seeds"] == [0, 1]
    assert joined.figures["agreement"].values == pytest.approx(figures["agreement"].values)
    assert "(a)" in drawn(Reproduction(joined, config, {}, runs_folder)).axes[0].get_title(loc="left")
