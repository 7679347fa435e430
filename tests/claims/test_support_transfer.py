"""The quick preset of the support-transfer claim, and what it asks of a source."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from quantascope.claims.claim import reproduce
from quantascope.claims.more_seeds import with_more_seeds
from quantascope.claims.register import CLAIMS
from quantascope.claims.support_transfer import INFLECTION, correlation
from quantascope.claims.transfer_runs import program_sets
from quantascope.discovery.measure import measure_field
from quantascope.discovery.transfer import Proposer
from quantascope.discovery.transfer.kernel import first_order_effects
from quantascope.discovery.transfer.proposals import KERNEL_POINTS
from quantascope.programs import find_task
from quantascope.qmodel.compiled.program_task import program_task
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.losses import TiedLosses
from quantascope.tasks.inflection.lexicon import parts
from quantascope.tasks.inflection.rules import ending_of

CLAIM = CLAIMS["support-transfer"]


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory):
    with ThreadPoolExecutor(1) as engine:
        folder = tmp_path_factory.mktemp("transfer") / "quick"
        return reproduce(CLAIM, CLAIM.presets["quick"], preset="quick", folder=folder, engine=engine)


def test_every_kind_of_source_is_scored_beside_random_sets(reproduction):
    figures = reproduction.result.figures
    for kind, methods in (
        ("number_naming", ("factors", "words", "random", "alike")),
        ("flat", ("units", "random")),
    ):
        for method in methods:
            assert figures[f"transfer_{kind}_{method}"].values
    expected = figures["word_transfer_flat_units"].mean - figures["word_transfer_flat_random"].mean
    assert figures["beyond_random_flat_units"].mean == pytest.approx(expected)
    assert "child_to_parent_two_levels" in figures
    assert "child_to_parent_flat" not in figures


def test_nulls_stand_in_the_place_of_the_factors_that_are_tried(reproduction):
    transfer = reproduction.evidence["number-naming-0"].transfer
    sets = {
        method: [
            trial.cut.members for trial in transfer.trials if (trial.method, trial.change) == (method, "raised")
        ]
        for method in ("factors", "random", "alike")
    }
    for null in ("random", "alike"):
        assert [one.sum() for one in sets[null]] == [one.sum() for one in sets["factors"]]
        both = [(one & other).sum() / one.sum() for one, other in zip(sets["factors"], sets[null], strict=True)]
        figure = reproduction.result.figures[f"shared_number_naming_{null}"]
        assert figure.mean == pytest.approx(np.mean(both))


def test_factors_are_raised_lowered_and_raised_at_fixed_weight_outside(reproduction):
    transfer = reproduction.evidence["number-naming-0"].transfer
    raised, lowered, outside = (transfer.of("factors", change) for change in ("raised", "lowered", "outside"))
    assert len(raised) == len(lowered) == len(outside) > 0
    assert all(one.taught > 0 for one in (*raised, *outside))
    assert all(one.taught < 0 for one in lowered)


def test_a_repeated_reproduction_trains_nothing(reproduction, monkeypatch):
    monkeypatch.setattr("quantascope.sources.retraining.train", None)
    with ThreadPoolExecutor(1) as engine:
        again = reproduce(CLAIM, reproduction.config, preset="quick", folder=reproduction.folder, engine=engine)
    assert again.result.figures == reproduction.result.figures


def test_the_figure_of_joined_seeds_shows_every_panel(reproduction, drawn):
    first = reproduction.result
    joined = with_more_seeds(
        CLAIM, first, replace(first, config=first.config | {"seeds": [1], "parity_seeds": [1]})
    )
    assert len(joined.figures["transfer_flat_units"].values) == 2
    config = type(reproduction.config).parse(joined.config)
    drawn(replace(reproduction, result=joined, config=config, evidence={}))


def test_the_cost_counts_every_training():
    config = CLAIM.presets["full"]
    jobs = CLAIM.runs(config)
    # The source and even weights, twelve methods of three sets, factors cut twice and changed in two more ways.
    assert jobs["number-naming-0"].trainings == 2 + 12 * 3 + 3 * (2 + 2)
    assert CLAIM.steps(jobs["number-naming-0"]) == 49 * 1500
    one, two = (CLAIM.cost(jobs.values(), workers, "cpu") for workers in (1, 2))
    assert one.seconds == pytest.approx(2 * two.seconds)


def test_a_program_knows_nothing_of_the_words_that_it_spells_otherwise_than_the_dictionary():
    task = find_task("inflection")
    sets = program_sets(INFLECTION)
    events = task.events(task.panel(INFLECTION.trained_on))
    known = np.array(program_task("inflection").right(INFLECTION.trained_on))
    assert 0 < known.mean() < 1
    in_some_set = sets.any(0)
    assert in_some_set[known[events.example]].all()
    assert not in_some_set[~known[events.example]].any()
    stem = sets[program_task("inflection").compiled.graph.names.index("EMIT_STEM")]
    written = np.bincount(events.example[stem], minlength=len(known))
    words = [parts(asked)[0] for asked in task.panel(INFLECTION.trained_on)]
    letters = [len(word) - (ending_of(word) == "consonant y") for word in words]
    assert (written == np.where(known, letters, 0)).all()


def test_random_sets_have_as_many_events_of_each_word_as_the_factors(tiny_source):
    word = tiny_source.events().target.numpy()
    seen = Proposer(tiny_source, measure_field(tiny_source, "path"), word, threshold=0.02)
    for support, drawn in zip(seen.factors.supports, seen.random_sets(), strict=True):
        assert (np.bincount(word[support], minlength=50) == np.bincount(word[drawn], minlength=50)).all()
        assert not (support == drawn).all() or support.all()


def test_alike_sets_have_as_many_events_of_each_word_as_the_factors(tiny_source):
    word = tiny_source.events().target.numpy()
    seen = Proposer(tiny_source, measure_field(tiny_source, "path"), word, threshold=0.02)
    for support, drawn in zip(seen.factors.supports, seen.alike_sets(), strict=True):
        assert (np.bincount(word[support], minlength=50) == np.bincount(word[drawn], minlength=50)).all()


def test_the_transfer_kernel_says_what_an_event_gains_from_training_on_another(tiny_source):
    """To first order: one step of gradient descent on an event, from each checkpoint that is used."""
    word = tiny_source.events().target.numpy()
    seen = Proposer(tiny_source, measure_field(tiny_source, "path"), word)
    trajectory = tiny_source.trajectory
    intervals = len(trajectory) - 1
    assert intervals <= KERNEL_POINTS, "so every interval counts"
    two_alone = list(np.eye(len(word))[[0, 5]] * len(word) + 1)
    found = np.zeros((2, len(word)))
    for place in range(intervals):
        start = trajectory.load(place)
        losses = TiedLosses.of(tiny_source.losses, start)
        tensors = losses.tensors(start)
        at = losses.parameters(tensors)
        gained = first_order_effects(losses.beside(tensors), at, tiny_source.examples(), two_alone)
        found += trajectory.learning_rate_mass[place] * gained
    np.testing.assert_allclose(seen.kernel[[0, 5]], found, rtol=1e-3, atol=1e-4 * np.abs(found).max())


def test_an_unknown_method_is_refused_by_name(tiny_source):
    word = tiny_source.events().target.numpy()
    seen = Proposer(tiny_source, measure_field(tiny_source, "path"), word)
    with pytest.raises(InvalidConfig, match="unknown method 'guess'; known methods are factors"):
        seen.propose("guess")


def test_correlations_leave_out_what_is_not_known():
    assert correlation([(0.0, 0.0), (1.0, 2.0), (2.0, 4.0), (3.0, float("nan"))]) == pytest.approx(1)
    assert np.isnan(correlation([(0.0, 0.0), (1.0, 1.0)]))
