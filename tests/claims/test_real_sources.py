"""The claims about real data on tiny sources, and the numbers that they are made of."""

from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest

from quantascope.claims import g2p_gru
from quantascope.claims.claim import reproduce
from quantascope.claims.g2p_gru import pronounce
from quantascope.claims.publish import check_publishable
from quantascope.claims.real_figures import field_numbers
from quantascope.claims.real_source import runs
from quantascope.claims.real_spelling import errors
from quantascope.claims.real_study import Number, context_groups
from quantascope.claims.register import CLAIMS
from quantascope.claims.rules_first import exceptions_late, half_time, matched_loss
from quantascope.discovery.factors import Factors
from quantascope.discovery.nulls.packets import context_packets
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks import packaged
from quantascope.tasks.events import Events
from quantascope.tasks.inflection.lexicon import PANELS

TINY: dict[str, object] = {
    "source.trained_on": "training_100", "source.measured_on": None, "source.steps": 8,
    "source.batch": 10, "source.intervals": 2, "source.replays": 2, "source.model.blocks": 1,
    "source.model.width": 8, "source.model.hidden": 8, "source.model.heads": 1,
    "source.schedule.warmup": 2, "source.schedule.decay_from": 2,
    "study.fit.updates": 3, "study.fit.parts": 2, "study.spacings": [1, 2], "study.draws": 1, "study.shuffles": 3,
    "study.permutations": 1, "study.every": 4, "study.threshold": 0.01,
}  # fmt: skip


@pytest.fixture(scope="module")
def short_panels():
    from quantascope.programs.inflection import task

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(task), "_listed", {name: panel()[:24] for name, panel in PANELS.items()})
        yield


@pytest.fixture(scope="module")
def reproduction(short_panels, tmp_path_factory):
    claim = CLAIMS["real-inflection"]
    config = claim.presets["full"].replace({**TINY, "seeds": [3]})
    with ThreadPoolExecutor(1) as engine:
        return reproduce(claim, config, preset="full", folder=tmp_path_factory.mktemp("real"), engine=engine)


def test_a_claim_goes_the_whole_way_on_a_seed_and_measures_the_next_beside_it(reproduction, drawn):
    assert sorted(reproduction.evidence) == ["seed-3", "seed-4-alone"]
    figures = reproduction.result.figures
    assert all(len(figure.values) + figure.undefined == 1 for figure in figures.values())
    assert figures["completeness_path_2"].mean == pytest.approx(1, abs=0.02)
    assert figures["completeness_path_1"].mean == pytest.approx(1, abs=0.02)
    assert figures["match_2"].mean == pytest.approx(1)
    assert figures["factors"].mean == len(reproduction.evidence["seed-3"].found.factors)
    assert {
        "agreement",
        "correlation_message",
        "recurring_within_token_position",
        "detects_ends",
    } <= figures.keys()
    drawn(reproduction)


def test_the_network_to_compare_with_is_looked_for_before_anything_is_trained(tmp_path, monkeypatch):
    claim = CLAIMS["real-spelling"]
    monkeypatch.setattr(packaged, "find_spec", lambda package: None if package == "g2p_en" else find_spec(package))
    packaged.packaged_data.cache_clear()
    config = claim.presets["full"].replace({**TINY, "seeds": [3]})
    with ThreadPoolExecutor(1) as engine, pytest.raises(InvalidConfig) as told:
        reproduce(claim, config, preset="full", folder=tmp_path / "new", engine=engine)
    packaged.packaged_data.cache_clear()
    assert str(told.value) == "the data of g2p_en are not installed; pip install --no-deps g2p-en"
    assert not list((tmp_path / "new").rglob("*.safetensors"))


def test_numbers_are_those_of_the_fields(reproduction):
    one = reproduction.evidence["seed-3"]
    again = field_numbers(one.found, reproduction.config.study)
    assert {key: again[key].value for key in again} == pytest.approx(
        {key: one.numbers[key].value for key in again}, nan_ok=True
    )


def test_seeds_may_be_published_apart_and_each_has_its_next_one():
    claim = CLAIMS["real-inflection"]
    full = claim.presets["full"]
    part = full.replace({"seeds": [2, 3]})
    assert list(runs(part)) == ["seed-2", "seed-3", "seed-4-alone"]
    check_publishable(claim, part, "full")
    assert len(full.seeds) == 8
    assert all(len(CLAIMS[name].presets["full"].seeds) == 3 for name in ("real-spelling", "real-code"))


def test_a_number_without_value_survives_its_record():
    found = Number.from_json(Number("nothing", float("nan"), "%").to_json())
    assert np.isnan(found.value)
    assert Number.from_json(Number("one", 1.0).to_json()) == Number("one", 1.0)


def test_half_of_a_fall_is_found_between_checkpoints():
    steps = np.array([0, 10, 20, 40])
    assert half_time(np.array([4.0, 3.0, 1.0, 0.0]), steps) == pytest.approx(15 / 40)
    assert np.isnan(half_time(np.array([1.0, 1.0, 1.0, 1.0]), steps))


def test_exceptions_are_compared_with_rules_of_their_context_alone():
    losses = np.array([[1.0], [2.0], [5.0], [3.0], [7.0]])
    exception = np.array([True, True, True, False, False])
    groups = np.array([0, 0, 1, 0, 2])
    own, alike, kept = matched_loss(losses, exception, ~exception, groups)
    assert (own.tolist(), alike.tolist(), kept) == ([1.5], [3.0], pytest.approx(2 / 3))


def test_quanta_that_help_exceptions_late_are_told():
    curves, supports = np.eye(3), np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]], dtype=bool)
    factors = Factors(layer=np.zeros(3, dtype=np.int64), supports=supports, curves=curves, explained=np.ones(3))
    assert exceptions_late(factors, np.array([False, False, True, True])) == pytest.approx(1)


def test_packets_within_contexts_keep_how_many_events_each_context_has(rng):
    groups = rng.integers(0, 5, 60)
    supports = rng.random((2, 60)) < 0.4
    factors = Factors(
        layer=np.array([0, 1]), supports=supports, curves=np.ones((2, 4)), explained=np.array([0.5, 0.5])
    )
    values = rng.random((2, 60, 4))
    drawn = context_packets(factors, values, groups, rng)
    assert (drawn.supports != supports).any()
    for group in range(5):
        own = groups == group
        assert drawn.supports[:, own].sum(1).tolist() == supports[:, own].sum(1).tolist()
    assert drawn.curves[1] == pytest.approx(values[1, drawn.supports[1]].mean(0))


def test_events_are_alike_by_what_is_written_where_and_after_what():
    events = Events.of([[1, 7], [2, 7], [1, 7]], [[5, 9], [5, 9], [5, 9]])
    assert context_groups(events, ("token", "position")).tolist() == [0, 1, 0, 1, 0, 1]
    by_two = context_groups(events, ("token", "previous", "second previous"))
    assert by_two[0] == by_two[4] != by_two[2]


def test_the_gru_says_what_its_package_prints_for_a_new_word():
    said = pronounce(["activationist", "cat"])
    assert " ".join(said["activationist"]) == "AE2 K T IH0 V EY1 SH AH0 N IH0 S T"
    assert said["cat"] == ["K", "AE1", "T"]


def test_the_gru_is_that_of_its_equations():
    with np.load(g2p_gru.data().path) as kept:
        weights = {name: kept[name].astype(np.float64) for name in kept.files}

    def step(part, inputs, state):
        ours = inputs @ weights[f"{part}_w_ih"].T + weights[f"{part}_b_ih"]
        theirs = state @ weights[f"{part}_w_hh"].T + weights[f"{part}_b_hh"]
        reset, update = (1 / (1 + np.exp(-(ours[at] + theirs[at]))) for at in (slice(256), slice(256, 512)))
        new = np.tanh(ours[512:] + reset * theirs[512:])
        return (1 - update) * new + update * state

    state = np.zeros(256)
    for letter in (*"knight", "</s>"):
        state = step("enc", weights["enc_emb"][g2p_gru._INPUTS.index(letter)], state)
    said, sounds = g2p_gru._OUTPUTS.index("<s>"), []
    for _ in range(4):
        state = step("dec", weights["dec_emb"][said], state)
        said = int((weights["fc_w"] @ state + weights["fc_b"]).argmax())
        sounds.append(g2p_gru._OUTPUTS[said])
    assert sounds == ["N", "AY1", "T", "</s>"]
    assert pronounce(["knight"])["knight"] == sounds[:-1]


def test_errors_count_edits_over_right_sounds():
    assert errors([("abc", "abd"), ("", "ab"), ("abcd", "abcd")]) == pytest.approx((100 * 3 / 9, 100 * 2 / 3))
