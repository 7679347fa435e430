"""Every view opens, in both themes and on a phone, without a complaint of the browser or of axe."""

import importlib
import re

import pytest

PLACES = [
    "training?from=0&to=12",
    "quanta",
    "quanta/L0.Q0",
    "trace/346?pin=7",
    "intervene/346?units=ablate+L0.Q0&unit=L0.Q0&panel=causal",
    "program/1984?run=2",
    "dynamics?run=3",
    "compare",
    "claims/flat-acquisition%2Facquired_displayed",
]
SERIOUS = ("serious", "critical")
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def axe():
    return importlib.import_module("axe_playwright_python.sync_playwright").Axe()


def serious(axe, page, **options):
    found = axe.run(page, options={"resultTypes": ["violations"], **options}).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in SERIOUS]


def test_every_view_is_accessible(visitor, address, axe):
    visit = visitor(address)
    for place in PLACES:
        assert not serious(axe, visit.open(place)), place


def test_every_view_is_readable_in_the_dark_and_fits_a_phone(visitor, address, axe):
    visit = visitor(address, color_scheme="dark", viewport=PHONE)
    for place in PLACES:
        page = visit.open(place)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], place
        assert not serious(axe, page, runOnly=["color-contrast"]), place


def test_views_that_a_run_does_not_have_say_why_and_how_to_get_them(visit, expect):
    page = visit.open("trace?run=3")
    state = page.locator("main .state").first
    assert state.is_visible()
    assert page.locator("nav .absent").count() > 0
    expect(visit.open("?run=3")).to_have_title(re.compile("^Dynamics"))


def test_number_keys_switch_views_and_the_theme_is_kept(visit, expect):
    page = visit.open("training")
    page.keyboard.press("2")
    expect(page).to_have_title(re.compile("^Quanta"))
    before = page.locator("html").get_attribute("data-theme")
    page.get_by_role("button", name="Switch to the").click()
    assert page.locator("html").get_attribute("data-theme") != before
    page.reload()
    assert visit.settled().locator("html").get_attribute("data-theme") != before
