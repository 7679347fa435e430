import hashlib

import pytest
from pydantic import ValidationError

from quantascope.acquisition.learner import HSPLearner
from quantascope.runs.config import Config, NonNegativeFloat, Positive, differences, fingerprint
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.hsp import ClosureDemand, FlatFamily, LevelRatio, RegularFamily


class Pace(Config):
    stride: NonNegativeFloat = 0.5
    rests: tuple[Positive, ...] = ()


class Walk(Config):
    steps: Positive = 10
    pace: Pace = Pace()


class LaterWalk(Walk):
    LATER = ("dog",)

    dog: str | None = None


@pytest.mark.parametrize(
    ("config", "values", "message"),
    [
        (Walk, {"stepz": 3}, "unknown key 'stepz' in Walk; did you mean 'steps'?"),
        (Walk, {"xyzzy": 3}, "unknown key 'xyzzy' in Walk; known keys are pace, steps"),
        (Walk, {"pace": {"strid": 1.0}}, "unknown key 'pace.strid' in Walk; did you mean 'stride'?"),
        (
            HSPLearner,
            {"training": {"optimizer": {"momentun": 0.5}}},
            "unknown key 'training.optimizer.momentun' in HSPLearner; did you mean 'momentum'?",
        ),
        (
            HSPLearner,
            {"family": {"kind": "regular", "rootz": 3}},
            "unknown key 'family.rootz' in HSPLearner; did you mean 'roots'?",
        ),
        (
            HSPLearner,
            {"family": {"kind": "composed", "private_degre": 3}},
            "unknown key 'family.private_degre' in HSPLearner; did you mean 'private_degree'?",
        ),
        (
            HSPLearner,
            {"family": {"kind": "regular", "demand": {"kind": "ratio", "ratoi": 2.0}}},
            "unknown key 'family.demand.ratoi' in HSPLearner; did you mean 'ratio'?",
        ),
        (
            HSPLearner,
            {"family": {"kind": "regular", "demand": {"kind": "closure", "ratio": 2.0}}},
            "unknown key 'family.demand.ratio' in HSPLearner; known keys are beta, kind",
        ),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_key_of_the_same_place(config, values, message):
    with pytest.raises(InvalidConfig) as refused:
        config.parse(values)
    assert str(refused.value) == message


@pytest.mark.parametrize(("asked", "meant"), [("stride", "pace.stride"), ("walk.steps", "steps")])
def test_a_change_in_the_wrong_section_is_told_the_right_one(asked, meant):
    with pytest.raises(InvalidConfig, match=f"unknown key '{asked}' in Walk; did you mean '{meant}'"):
        Walk().replace({asked: 3})


@pytest.mark.parametrize(
    ("config", "values", "message"),
    [
        (Walk, {"steps": "ten"}, r"Walk\.steps = 'ten': Input should be a valid integer"),
        (Walk, {"steps": True}, r"Walk\.steps = True: Input should be a valid integer"),
        (Walk, {"steps": 2.0}, r"Walk\.steps = 2.0: Input should be a valid integer"),
        (Walk, {"steps": 0}, r"Walk\.steps = 0: Input should be greater than 0"),
        (Walk, {"pace": {"stride": "1"}}, r"Walk\.pace\.stride = '1': Input should be a valid number"),
        (Walk, {"pace": {"stride": float("nan")}}, r"Walk\.pace\.stride = nan: Input should be a finite number"),
        (Walk, {"pace": {"rests": [3, -1]}}, r"Walk\.pace\.rests\.1 = -1: Input should be greater than 0"),
        (
            HSPLearner,
            {"family": {"kind": "regular", "roots": "x"}},
            r"HSPLearner\.family\.roots = 'x': .*integer",
        ),
        (HSPLearner, {"family": {"kind": "tree"}}, r"HSPLearner\.family = {'kind': 'tree'}: .*'flat', 'composed'"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_its_key_and_itself(config, values, message):
    with pytest.raises(InvalidConfig, match=message):
        config.parse(values)


def test_parsing_fills_in_defaults_and_chooses_the_member_of_a_union_by_its_kind():
    assert Walk.parse({}) == Walk(steps=10, pace=Pace(stride=0.5, rests=()))
    assert Walk.parse({"pace": {"rests": [2, 5]}}).pace.rests == (2, 5)
    learner = HSPLearner.parse({"family": {"kind": "regular", "demand": {"kind": "ratio", "ratio": 5}}})
    assert learner.family == RegularFamily(demand=LevelRatio(ratio=5.0))


@pytest.mark.parametrize(
    "config",
    [
        Walk(steps=3, pace=Pace(rests=(1, 2))),
        HSPLearner(),
        HSPLearner(family=RegularFamily(demand=ClosureDemand())),
    ],
)
def test_what_is_dumped_parses_to_the_same_config(config):
    assert type(config).parse(config.model_dump(mode="json")) == config


def test_a_config_cannot_be_changed_in_place():
    with pytest.raises(ValidationError, match="frozen"):
        Walk().steps = 3


def test_replacing_dotted_keys_changes_a_copy():
    walk = Walk()
    changed = walk.replace({"steps": 20, "pace.stride": 2.0, "pace.rests": [1]})
    assert changed == Walk(steps=20, pace=Pace(stride=2.0, rests=(1,)))
    assert walk == Walk()
    learner = HSPLearner(family=RegularFamily()).replace(
        {"family.demand.beta": 3.0, "training.optimizer.epsilon": 0.5}
    )
    assert learner.family == RegularFamily(demand=ClosureDemand(beta=3.0))
    assert learner.training.optimizer.epsilon == 0.5


def test_another_kind_brings_its_own_defaults_which_other_keys_may_change():
    learner = HSPLearner().replace({"family.roots": 3, "family.kind": "regular", "family.demand.kind": "ratio"})
    assert learner.family == RegularFamily(roots=3, demand=LevelRatio())


def test_a_whole_section_can_be_replaced():
    learner = HSPLearner().replace({"family": {"kind": "flat", "tasks": 3}})
    assert learner.family == FlatFamily(tasks=3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stepz": 1}, "unknown key 'stepz' in HSPLearner; known keys are batch_size, "),
        ({"batch_siz": 1}, r"unknown key 'batch_siz' in HSPLearner; did you mean 'batch_size'\?"),
        ({"trainin.steps": 1}, r"unknown key 'trainin.steps' in HSPLearner; did you mean 'training.steps'\?"),
        ({"training.stepz": 1}, r"unknown key 'training.stepz' in HSPLearner; did you mean 'steps'\?"),
        (
            {"training.optimzer.lr": 1},
            r"'training.optimzer.lr' in HSPLearner; did you mean 'optimizer'\?",
        ),
        ({"batch_size.x": 1}, "unknown key 'batch_size.x' in HSPLearner"),
        ({"family.roots": 1}, "unknown key 'family.roots' in HSPLearner; known keys are degree, distractors"),
        ({"batch_size": "many"}, r"HSPLearner\.batch_size = 'many': Input should be a valid integer"),
    ],
)
def test_replacing_what_is_not_there_or_by_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(InvalidConfig, match=message):
        HSPLearner().replace(changes)


def test_the_hash_is_that_of_the_sorted_compact_json():
    text = '{"pace":{"rests":[],"stride":0.5},"steps":10}'
    assert Walk().hash() == hashlib.sha256(text.encode()).hexdigest()[:16] == "da7f17dfa80d69a7"


def test_the_hash_does_not_depend_on_the_order_of_keys_or_on_how_a_number_was_written():
    one = Walk.parse({"steps": 3, "pace": {"stride": 2, "rests": [1]}})
    other = Walk.parse({"pace": {"rests": [1], "stride": 2.0}, "steps": 3})
    assert one.hash() == other.hash()
    assert fingerprint({"a": 1, "b": {"c": 2, "d": 3}}) == fingerprint({"b": {"d": 3, "c": 2}, "a": 1})


def test_any_other_value_gives_another_hash():
    changes = [
        {},
        {"steps": 11},
        {"pace.stride": 0.25},
        {"pace.rests": [1]},
        {"pace.rests": [1, 2]},
        {"pace.rests": [2, 1]},
    ]
    assert len({Walk().replace(change).hash() for change in changes}) == len(changes)


def test_differences_are_listed_by_dotted_key_with_both_values():
    one = Walk().model_dump(mode="json")
    other = Walk(steps=20, pace=Pace(rests=(3,))).model_dump(mode="json")
    assert differences(one, one) == []
    assert differences(one, other) == ["pace.rests: [] -> [3]", "steps: 10 -> 20"]
    assert differences({"a": 1}, {"a": {"b": 2}}) == ["a: 1 -> {'b': 2}"]


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, ["b: absent -> 2"]),
        ({"a": None}, {}, ["a: None -> absent"]),
        ({"a": 1}, {"a": 1.0}, ["a: 1 -> 1.0"]),
        ({"a": {"b": None}}, {"a": {}}, ["a.b: None -> absent"]),
    ],
)
def test_values_with_different_fingerprints_never_look_the_same(one, other, found):
    assert fingerprint(one) != fingerprint(other)
    assert differences(one, other) == found


def test_a_key_that_came_later_leaves_configs_and_hashes_as_they_were():
    assert LaterWalk().hash() == Walk().hash()
    with_dog = LaterWalk().replace({"dog": "Rex"})
    assert with_dog.model_dump(mode="json")["dog"] == "Rex"
    assert with_dog.hash() != Walk().hash()
    assert with_dog.replace({"dog": None}) == LaterWalk()
