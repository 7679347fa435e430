"""The claims about recovered Q-models, on sources that train in a second."""

from pathlib import Path

import numpy as np
import pytest
import torch

from quantascope.claims.claim import Reproduction
from quantascope.claims.message_interventions import PANEL, MessageInterventions, channel_agreement
from quantascope.claims.qmodel_frontier import QModelFrontier
from quantascope.claims.recovered_models import QModelFits, fitted_source, runs
from quantascope.claims.recovered_qmodel import RecoveredQModelClaim, seen
from quantascope.claims.register import CLAIMS
from quantascope.claims.result import Result
from quantascope.claims.scoreboard import read_paper
from quantascope.claims.source_faithfulness import SourceFaithfulness, compared
from quantascope.discovery.measure import measure_field
from quantascope.qmodel.recovered.effects import intervention_effects
from quantascope.qmodel.recovered.fidelity import every_event
from quantascope.qmodel.recovered.source_effects import KINDS, Comparison, compare

RESULTS = Path(__file__).parents[2] / "results"

CLAIMS_OF_RECOVERY = ("recovered-qmodel", "message-interventions", "source-faithfulness")


@pytest.fixture(scope="module")
def configs(models):
    return {
        "recovered-qmodel": RecoveredQModelClaim(models=models),
        "message-interventions": MessageInterventions(models=models),
        "source-faithfulness": SourceFaithfulness(models=models, every=32),
    }


@pytest.fixture(scope="module")
def evidence(models, runs_folder):
    found = {label: fitted_source(job, runs_folder / label) for label, job in runs(models).items()}
    for fitted in found.values():
        measure_field(fitted.runs[0].source, "path", "priority")
    return found


@pytest.fixture(scope="module")
def reproduction(configs, evidence):
    def reproduced(claim: str) -> Reproduction:
        config = configs[claim]
        result = Result.of(claim, "quick", config, CLAIMS[claim].measure(config, evidence), {})
        return Reproduction(result, config, evidence, evidence["qmodels-0"].runs[0].path)

    return reproduced


def test_the_first_source_has_every_fit_seed_and_all_claims_share_the_fits(models, configs):
    jobs = runs(models)
    assert [len(job.fits) for job in jobs.values()] == [4, 2]
    for claim, config in configs.items():
        assert CLAIMS[claim].runs(config) == jobs
        assert CLAIMS[claim].shares == "number-naming"
    full = {name: CLAIMS[name].presets["full"] for name in configs}
    most = CLAIMS["recovered-qmodel"].runs(full["recovered-qmodel"])
    for name, config in full.items():
        assert CLAIMS[name].runs(config).items() <= most.items()


def test_a_fit_is_found_again_beside_its_source(evidence):
    fitted = evidence["qmodels-0"]
    config = QModelFits(source=fitted.config.source, fits=fitted.config.fits[:1])
    again = fitted_source(config, fitted.runs[0].path.parent / "other")
    assert again.runs[0].path == fitted.runs[0].path


@pytest.mark.parametrize("claim", CLAIMS_OF_RECOVERY)
def test_a_claim_measures_what_the_paper_states_and_is_drawn(claim, reproduction, drawn):
    done = reproduction(claim)
    stated = {figure.figure for figure in read_paper(RESULTS) if figure.claim == claim}
    assert stated <= done.result.figures.keys()
    assert "(a)" in drawn(done).axes[0].get_title(loc="left")


def test_the_drawn_agreement_is_that_of_every_fit(evidence, reproduction, drawn):
    bars = drawn(reproduction("recovered-qmodel")).axes[0]
    faithful, distilled = (points.get_offsets()[:, 0] for points in bars.collections[:2])
    for points, preset in ((faithful, "faithful"), (distilled, "distilled")):
        fits = [run for fitted in evidence.values() for run in fitted.of(preset)]
        source = [run.source.model() for run in fits]
        events = fits[0].source.events("test")
        same = [
            one(events).argmax(-1) == run.model(events).argmax(-1) for one, run in zip(source, fits, strict=True)
        ]
        assert points.tolist() == pytest.approx([100 * float(one.double().mean()) for one in same])


def test_figures_are_those_of_the_models(evidence, reproduction):
    figures = reproduction("recovered-qmodel").result.figures
    firsts = [fitted.of("distilled")[0] for fitted in evidence.values()]
    assert figures["distilled_agreement_test_panel"].values == pytest.approx(
        [100 * seen(run, "test").agreement for run in firsts]
    )
    assert figures["distilled_agreement_fit_seeds"].values == pytest.approx(
        [100 * seen(run, "test").agreement for run in evidence["qmodels-0"].of("distilled")]
    )
    assert figures["parameters"].values == tuple(
        float(fitted.of("faithful")[0].model.parameter_count) for fitted in evidence.values()
    )
    assert set(figures["source_parameters"].values) == {
        float(sum(p.numel() for p in firsts[0].source.model().parameters()))
    }


def test_interventions_are_those_of_the_first_fits(evidence, reproduction):
    figures = reproduction("message-interventions").result.figures
    found = intervention_effects(evidence["qmodels-0"].of("faithful")[0], PANEL)
    assert figures["deletion_drop"].values[0] == found.deleted.accuracy_drop
    assert figures["quantum_drop"].values[0] == max(one.accuracy_drop for one in found.quantum)
    assert figures["deletion_drop_events"].low <= found.deleted.accuracy_drop


def test_channels_of_refits_are_compared_with_chance():
    possible = np.tril(np.ones((4, 4), dtype=bool), -1)
    one = np.zeros((4, 4), dtype=bool)
    one[1, 0] = one[2, 0] = True
    same, chance = channel_agreement([one, one, np.zeros_like(one)], possible)
    assert same == [1.0, 0.0, 0.0]
    # Two of six against two of six: both alike 1/15, one shared 8/15 with Jaccard 1/3.
    assert chance[0] == pytest.approx(1 / 15 + 8 / 45, abs=0.02)
    assert channel_agreement([np.zeros_like(one)] * 2, possible)[0] == [1.0]


@torch.no_grad()
def test_a_stream_resumed_unchanged_gives_the_sources_own_logits(evidence):
    source = evidence["qmodels-0"].runs[0].source
    model, events = source.model(), source.events()
    done = model.run(events)
    stream = done.stream
    for block, update in enumerate([torch.zeros_like(stream), *done.updates]):
        stream = stream + update
        torch.testing.assert_close(model.resume(stream, events, block=block), done.logits, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_effects_in_the_source_are_those_of_taking_the_message_away(evidence):
    run = evidence["qmodels-0"].of("faithful")[0]
    model, source, events = run.model, run.source.model(), every_event(run.source, "causal", 32)
    found = compare(model, source, events)
    place = int(found.writer[0])
    quantum, writer = divmod(place, model.config.writers)
    wrote = model.run(events).activity[quantum, :, writer]
    stream, layer = source.run(events), model.layers[quantum]
    hidden = stream.stream + sum(stream.updates[: layer + 1]) - wrote[:, None] * model.directions[quantum, writer]
    after = torch.nn.functional.cross_entropy(
        source.resume(hidden, events, block=layer + 1), events.target, reduction="none"
    )
    before = torch.nn.functional.cross_entropy(stream.logits, events.target, reduction="none")
    wanted = (after - before)[wrote[events.event_rows] > 0].numpy()
    np.testing.assert_allclose(found.found["message"][found.writer == place], wanted, atol=1e-5)
    assert set(found.found) == set(KINDS)
    assert compared(run, 32).correlation("message") == pytest.approx(found.correlation("message"))


def test_a_prediction_that_is_right_correlates_perfectly():
    value = np.arange(60.0)
    one = Comparison(np.repeat([0, 1], 30), value, {"message": 2 * value, "component": -(value**3)})
    assert (one.correlation("message"), one.within_writers("message")) == (pytest.approx(1), pytest.approx(1))
    assert one.rank_correlation("component") == pytest.approx(-1)
    assert one.mean_effect("message") == 59


def test_each_variation_of_the_frontier_changes_one_thing_and_is_drawn(models, runs_folder, drawn):
    full = CLAIMS["qmodel-frontier"].presets["full"]
    assert full.source.seed == 100
    assert all(len(changes) == 1 for name, changes in full.variations.items() if name != "base")
    assert len({fit.hash() for fit in full.job.fits}) == len(full.variations)
    varied = {"base": {}, "detached": {"model.gate_gradients": False}}
    config = QModelFrontier(source=models.source, base=models.distilled, variations=varied)
    evidence = {"frontier": fitted_source(config.job, runs_folder / "frontier")}
    figures = CLAIMS["qmodel-frontier"].measure(config, evidence)
    assert figures["agreement_base"].mean != figures["agreement_detached"].mean
    result = Result.of("qmodel-frontier", "quick", config, figures, {})
    drawn(Reproduction(result, config, evidence, runs_folder))
