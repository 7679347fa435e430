"""Requests are few, short and known; everything else is refused in one line."""

import pytest

from quantascope.explorer.request import FARTHEST, LONGEST_TARGET, Request, UnknownAddress
from quantascope.runs.errors import InvalidConfig, QuantascopeError


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("/api/index?" + "x" * LONGEST_TARGET, "is too long"),
        ("/api/index?a=1&a=2", "given twice"),
        ("/api/index?" + "&".join(f"p{n}=1" for n in range(20)), "too many"),
        ("/api/index?a=%ff", "not UTF-8"),
        ("/api/index?a=1", "there is no parameter 'a' here; there are none"),
        ("/api/runs/0/trace", "the parameter 'input' is missing"),
        ("/api/runs/0/trace?input=" + "1" * 3000, "has 3,000 characters; give at most 2,000"),
        ("/api/runs/0/trace?input=7&preset=distilled", "there is no preset 'distilled'; there are faithful"),
        ("/api/runs/0/trace?input=7&preset=../../etc", "there is no preset '../../etc'"),
        ("/api/runs/0/events?name=L9.Q9", "there is no name 'L9.Q9'"),
        ("/api/runs/0/events?name=L0.Q0&offset=-1", "'offset' is '-1'; give a whole number"),
        (f"/api/runs/0/events?name=L0.Q0&offset={FARTHEST + 1}", "give a whole number"),
        ("/api/runs/0/events?name=L0.Q0&offset=٣", "give a whole number"),
        ("/api/runs/0/intervene?units=" + "%0A".join(f"ablate+L0.Q{n}" for n in range(9)), "has 9 lines"),
        ("/api/runs/0/intervene?units=explode+L0.Q0", "there is no intervention 'explode'"),
        ("/api/runs/0/intervene?units=ablate+L0.Q0&panel=balanced", "more than 4,096 inputs"),
        ("/api/compare?runs=0", "1 runs cannot be compared"),
        ("/api/compare?runs=0,0", "2 runs cannot be compared; give 2 to 6 different ones"),
    ],
)
def test_what_is_out_of_bounds_is_refused_in_one_line(explorer, target, complaint):
    with pytest.raises(InvalidConfig) as refused:
        explorer.answer(Request.of(target))
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("path", ["", "nothing", "runs/0", "runs/1/quanta", "runs/0/program", "runs/../0/quanta"])
def test_an_unknown_address_leads_nowhere(explorer, path):
    with pytest.raises(UnknownAddress):
        explorer.answer(Request.of(f"/api/{path}"))


@pytest.mark.parametrize(
    "text", ["0", "1000000", "abc", "<script>alert(1)</script>", "\x1b[31m7", "\u202e7", "9" * 1999]
)
def test_an_input_outside_the_vocabulary_is_refused_in_one_line(get, text):
    with pytest.raises(QuantascopeError):
        get("runs/0/trace", input=text)


def test_addresses_are_written_as_a_browser_writes_them():
    asked = Request("runs/0/preview", {"unit": "delete L0.Q0->L1.Q1\nablate ~*é", "input": "12+3 4"})
    # new URLSearchParams(…).toString() of the same
    assert asked.target == ("/api/runs/0/preview?input=12%2B3+4&unit=delete+L0.Q0-%3EL1.Q1%0Aablate+%7E*%C3%A9")
    assert Request.of(asked.target) == asked
