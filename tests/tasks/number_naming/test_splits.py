"""The lists of numbers, to the digit."""

import hashlib
import itertools

import pytest

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.number_naming import PANELS, length_balanced, naming_events
from quantascope.tasks.number_naming.splits import digits, has_short_tail, has_zero_gap, training_of

LISTS = {name: panel() for name, panel in PANELS.items()}


def sha256(numbers: tuple[int, ...]) -> str:
    return hashlib.sha256(",".join(map(str, numbers)).encode()).hexdigest()


@pytest.mark.parametrize(
    ("panel", "count", "sha"),
    [
        ("training", 300, "bc9ec752bca1a43af2241fcdce809678be05f5bd944b2ad08089af17371d4b3e"),
        ("balanced", 16_384, "973d352eed74557310afba79fedd76356169f9750cb820742545c0ba8e628a97"),
    ],
)
def test_the_published_lists_are_reproduced_to_the_digit(panel, count, sha):
    assert (len(LISTS[panel]), sha256(LISTS[panel])) == (count, sha)


@pytest.mark.parametrize(
    ("panel", "count"),
    [
        ("zero_gap", 4031),
        ("short_tail", 1553),
        ("calibration", 2048),
        ("test", 2048),
        ("causal", 512),
        ("priority", 300),
        ("development", 1024),
        ("unlabelled", 3000),
        ("contaminated", 300),
        ("training_50", 50),
        ("training_600", 600),
    ],
)
def test_panels_have_their_size_and_no_number_twice(panel, count):
    assert len(LISTS[panel]) == len(set(LISTS[panel])) == count


@pytest.mark.parametrize(
    "panel", ["zero_gap", "short_tail", "development", "unlabelled", "priority", "calibration", "test", "causal"]
)
def test_panels_hold_no_training_number(panel):
    assert not set(LISTS[panel]) & {*LISTS["training"], *LISTS["training_600"]}


def test_training_sets_lie_within_each_other():
    sets = [set(LISTS[f"training_{count}"]) for count in (50, 100, 200, 300, 600)]
    assert all(small < large for small, large in itertools.pairwise(sets))
    assert LISTS["training_300"] == tuple(sorted(LISTS["training"]))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("calibration", "test"),
        ("calibration", "causal"),
        ("priority", "test"),
        ("development", "balanced"),
        ("development", "calibration"),
        ("development", "test"),
        ("development", "priority"),
        ("unlabelled", "balanced"),
        ("unlabelled", "development"),
    ],
)
def test_what_chooses_and_what_reports_share_nothing(one, other):
    assert not set(LISTS[one]) & set(LISTS[other])


def test_overlaps_are_the_stated_ones():
    trained = set(LISTS["training"])
    assert len(trained & set(LISTS["balanced"])) == 160
    assert len(trained & set(LISTS["contaminated"])) == 51
    assert set(LISTS["causal"]) <= set(LISTS["test"]) <= set(LISTS["balanced"])
    assert set(LISTS["contaminated"]) <= set(LISTS["balanced"])


def test_panels_are_spread_over_their_range_and_not_only_its_beginning():
    for panel in ("causal", "priority", "development", "test", "calibration"):
        six = [number for number in LISTS[panel] if digits(number) == 6]
        assert 450_000 < sum(six) / len(six) < 650_000


def test_more_training_numbers_than_there_are_are_refused():
    with pytest.raises(InvalidConfig, match="600 numbers to train on, not 601"):
        training_of(601)


def test_training_diagnostics_are_counted_over_all_lengths():
    assert sum(map(has_zero_gap, LISTS["training"])) == 64
    assert sum(map(has_short_tail, LISTS["training"])) == 30


def test_events_are_as_many_as_stated():
    assert naming_events(LISTS["training"]).count == 1651
    assert naming_events(LISTS["balanced"]).count == 122_575


def test_the_coverage_control_draws_with_replacement_and_by_seed():
    assert length_balanced(600, seed=1) == length_balanced(600, seed=1) != length_balanced(600, seed=2)
    assert len(set(length_balanced(600, seed=1))) < 600


@pytest.mark.parametrize("count", [0, 5, 100])
def test_an_uneven_coverage_control_is_refused(count):
    with pytest.raises(InvalidConfig, match=f"a length-balanced draw of {count} is uneven; give a multiple of 6"):
        length_balanced(count, seed=0)
