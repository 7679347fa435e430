"""Each number that the page shows is the one that a command prints, rounded."""

import re
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[3] / "results"
MINUS, GAP = "−", "\u202f"


def read(text):
    """The first number of a text, as it is shown; shares as parts of one."""
    found = re.search(rf"[{MINUS}+]?[\d{GAP}]+(\.\d+)?(e[{MINUS}+]?\d+)?( %)?", text)
    assert found, text
    plain = found[0].replace(GAP, "").replace(MINUS, "-")
    return float(plain.removesuffix(" %")) / 100 if plain.endswith(" %") else float(plain)


def same(text, value):
    """Whether a text shows a value to its own digits."""
    digits = re.search(rf"[\d{GAP}]+(?:\.(\d+))?(?:e[{MINUS}+]?(\d+))?( %)?", text)
    assert digits
    places = len(digits[1] or "") + (2 if digits[3] else 0) + (int(digits[2]) if digits[2] else 0)
    return read(text) == pytest.approx(value, abs=0.5000001 * 10**-places)


def facts(page):
    """What stands under each title of the boxes of facts."""
    return dict(zip(page.locator("dt").all_inner_texts(), page.locator("dd").all_inner_texts(), strict=True))


def rows(page):
    """The cells of the rows of a table that are drawn."""
    return [row.get_by_role("gridcell").all_inner_texts() for row in page.locator(".table-row").all()]


def test_quanta_are_those_of_discover(visit, printed):
    told = printed("discover", "--workers", "1", "--threshold", "0.02")
    page = visit.open("quanta")
    shown = {cells[0]: cells for cells in rows(page)}
    assert set(shown) == {row["quantum"] for row in told["quanta"]}
    for row in told["quanta"]:
        _, _, acquired, demand, complexity, explained, *_ = shown[row["quantum"]]
        assert same(acquired, row["acquired"])
        assert same(demand, row["demand"])
        assert same(explained, row["explained"])
        assert complexity == "–" if row["complexity"] is None else same(complexity, row["complexity"])
    beside = facts(page)
    assert same(beside["quanta"], len(told["quanta"]))
    assert same(beside["threshold"], told["threshold"])
    assert same(beside["loss change accounted for"], told["completeness"])
    assert same(beside["correlation by event"], told["event_correlation"])
    assert ("not reliable" in beside["field"]) != told["reliable"]


def test_a_trace_is_that_of_trace(visit, printed):
    told = printed("trace", "346")
    for at, step in enumerate(told["steps"]):
        page = visit.open(f"trace/346?step={at}")
        tokens = page.locator("button.token").all_inner_texts()
        assert tokens == [one["token"] for one in told["steps"]]
        shown = zip(
            page.locator(".predictions .token").all_inner_texts(),
            page.locator(".predictions .share").all_inner_texts(),
            strict=True,
        )
        for (token, share), (expected, probability) in zip(
            shown, [*step["top"], *step["source_top"]], strict=True
        ):
            assert token == expected
            assert share == "< 0.1 %" if 0 < probability < 0.0005 else same(share, probability)
        for title, units in (("Open gates", step["gates"]), ("Active writers", step["writers"])):
            panel = page.locator("section.panel", has=page.get_by_role("heading", name=title, exact=True))
            for line, unit in zip(panel.locator("li").all(), units, strict=True):
                assert unit["name"] in line.inner_text()
                assert same(line.locator(".measure").inner_text(), unit["activity"])


def test_effects_are_those_of_intervene(visit, printed):
    told = printed("intervene", "--ablate", "L0.Q0", "--panel", "causal")
    page = visit.open("intervene/346?units=ablate+L0.Q0&panel=causal")
    (one,) = told["interventions"]
    beside = page.get_by_label(one["title"])
    assert f"{told['events']:,}".replace(",", GAP) in beside.inner_text()
    shown = beside.locator("dd").all_inner_texts()
    for (accuracy, loss), model in zip((shown[:2], shown[2:]), ("qmodel", "source"), strict=True):
        assert same(accuracy, one[model]["accuracy_drop"])
        assert same(loss, one[model]["nll_rise"])
        low, high = one[model]["nll_interval"]
        first, second = re.split(" to ", loss.splitlines()[-1].split(" ", 1)[-1])
        assert same(first, low)
        assert same(second, high)


def test_claims_are_those_of_the_scoreboard(visit, printed):
    told = printed("scoreboard", "--results", str(RESULTS))
    page = visit.open("claims?q=flat-acquisition")
    shown = rows(page)
    expected = [row for row in told if row["claim"] == "flat-acquisition"][: len(shown)]
    assert len(shown) > 5
    for cells, row in zip(shown, expected, strict=True):
        _, figure, paper, run, ours, _, runs, verdict = cells
        assert figure == row["figure"].replace("_", " ")
        assert paper == "–" if row["paper"] is None else same(paper, row["paper"])
        assert run == "–" if row["run"] is None else same(run, row["run"])
        assert ours == "–" if row["ours"] is None else same(ours, row["ours"])
        assert same(runs, row["seeds"])
        assert verdict.split(" ", 1)[-1] == row["verdict"] or verdict == row["verdict"]


def test_quanta_of_a_copy_recur_as_themselves(visit):
    for name, _, _, share, partner, _ in rows(visit.open("compare")):
        assert share == "100 %"
        assert partner.split()[:2] == ["✓", name]
        assert same(partner.split()[-1], 1.0)


def test_a_program_answers_as_it_does_without_a_page(visit):
    page = visit.open("program/1984?run=2")
    assert "".join(page.locator("button.token").all_inner_texts()[:-1]) == "MCMLXXXIV"
    first = {cells[0]: cells for cells in rows(page)}
    assert first["THOUSANDS"][1:3] == ["ran", "1"]
    assert first["EMIT_END"][2] == "–"


def test_what_a_forest_learned_is_that_of_its_run(visit, forest_run):
    from quantascope.acquisition.learner import read_curves

    beside = facts(visit.open("dynamics?run=3"))
    summary = read_curves(forest_run).summary()
    assert same(beside["tasks acquired"], summary["acquired"])
    assert f"of {summary['tasks']}" in beside["tasks acquired"]
