"""Lists of events: which are strongest, borderline or absent, in pages, and what an interval helped."""

import numpy as np
import pytest

from quantascope.discovery.factorize import gains
from quantascope.explorer.events import PAGE, shares
from quantascope.runs.errors import InvalidConfig


@pytest.fixture(scope="module")
def found(explorer):
    return explorer.runs[0].discovery


def test_an_event_is_in_the_support_where_its_share_is_above_one_half(found):
    for factor, support in enumerate(found.factors.supports):
        share = shares(found, factor)
        clear = np.abs(share - 0.5) > 1e-6
        assert ((share > 0.5) == support)[clear].all()


def test_shares_are_what_is_left_after_earlier_quanta_of_the_layer(found):
    for layer in np.unique(found.factors.layer):
        residual = found.trained.values[layer].astype(np.float64)
        for factor in np.flatnonzero(found.factors.layer == layer).tolist():
            curve = found.factors.curves[factor]
            gain = gains(residual, curve[None])[:, 0]  # 2 <R, ρ> - <ρ, ρ>
            assert shares(found, factor) == pytest.approx((gain / (curve @ curve) + 1) / 2, abs=1e-6)
            residual -= np.outer(found.factors.supports[factor], curve)


def test_pages_hold_every_event_of_a_quantum_once(get, found):
    smallest = int(found.factors.supports.sum(1).argmin())
    name, support = found.names[smallest], found.factors.supports[smallest]
    seen = []
    for offset in range(0, int(support.sum()) + PAGE, PAGE):
        seen += get("runs/0/events", name=name, which="strongest", offset=offset)["events"]
    assert len({(one["input"], one["at"]) for one in seen}) == len(seen) == support.sum()
    values = [one["value"] for one in seen]
    assert values == sorted(values, reverse=True)
    assert min(values) > 0.5


def test_the_other_lists_are_of_the_events_outside_and_of_all(get, found):
    name, support = found.names[0], found.factors.supports[0]
    absent, borderline = (get("runs/0/events", name=name, which=which) for which in ("absent", "borderline"))
    assert (absent["total"], borderline["total"]) == ((~support).sum(), len(support))
    assert all(one["value"] <= 0.5 for one in absent["events"])
    far = [abs(one["value"] - 0.5) for one in borderline["events"]]
    assert far == sorted(far)


def test_an_event_is_shown_in_its_context(get, found, explorer):
    source = explorer.runs[0].source
    for one in get("runs/0/events", name=found.names[0], which="borderline")["events"][:10]:
        asked = source.task.parse(one["input"])
        assert tuple(one["prompt"]) == tuple(source.task.prompt(asked))
        assert tuple(one["answer"]) == source.task.right_answer(asked)
        assert len(one["lit"]) == len(one["answer"])


def test_an_interval_tells_credit_by_event_and_layer(get, found):
    steps = found.trained.steps.tolist()
    shown = get("runs/0/interval", from_=steps[1], to=steps[4])
    total = found.trained.total[:, 1:4].sum(1, dtype=np.float64)
    assert shown["total"] == (total > 0).sum()
    assert shown["events"][0]["value"] == pytest.approx(total.max())
    assert sum(one["share"] for one in shown["layers"]) == pytest.approx(1)
    grown = {one["name"]: one["gained"] for one in shown["quanta"]}
    cumulative = found.factors.cumulative
    assert grown == pytest.approx(
        {
            name: cumulative[place, 3] - cumulative[place, 0]
            for place, name in enumerate(found.names)
            if cumulative[place, 3] > cumulative[place, 0]
        }
    )


def test_an_interval_needs_two_steps_of_the_field(get, found):
    steps = found.trained.steps.tolist()
    with pytest.raises(InvalidConfig, match="not measured at step 1; the nearest step is 0"):
        get("runs/0/interval", from_=1, to=steps[2])
    with pytest.raises(InvalidConfig, match="is empty"):
        get("runs/0/interval", from_=steps[2], to=steps[2])


def test_losses_are_means_over_the_events_of_each_class(get, found):
    losses = {one["name"]: one for one in get("runs/0/training")["losses"]}
    assert losses["training"]["values"] == pytest.approx(found.trained.losses.mean(0), rel=1e-5)
    word = next(name for name, one in losses.items() if one["kind"] == "class")
    own = np.asarray(found.labels) == word
    assert losses[word]["values"] == pytest.approx(found.trained.losses[own].mean(0), rel=1e-5)
