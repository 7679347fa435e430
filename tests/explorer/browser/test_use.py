"""What a person does: type, brush, sort, filter, step, intervene, go back and forward, and share an address."""

from urllib.parse import unquote


def place(page):
    """Where the page is: what an address holds after `#/`."""
    return unquote(page.evaluate("location.hash").removeprefix("#/")).replace("+", " ")


def test_inputs_are_typed_traced_and_compared(visit, expect):
    page = visit.open("trace")
    page.get_by_label("Input").fill("346")
    page.get_by_label("Input").press("Enter")
    expect(page.get_by_text("token 1 of")).to_be_visible()
    assert place(page) == "trace/346"
    page.get_by_role("button", name="Pin to compare").click()
    expect(page.get_by_role("button", name="Unpin 346")).to_be_visible()
    page.get_by_label("Input").fill("7")
    page.get_by_role("button", name="Trace", exact=True).click()
    for number in ("346", "7"):
        expect(page.get_by_role("heading", name=number, exact=True)).to_have_count(1)


def test_arrow_keys_step_through_the_tokens_of_an_answer(visit, expect):
    page = visit.open("program?run=2")
    page.get_by_label("Input").fill("1984")
    page.get_by_label("Input").press("Enter")
    expect(page.get_by_role("heading", name="1984", exact=True)).to_be_visible()
    expect(page.get_by_text("token 1 of 10")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("token 3 of 10")).to_be_visible()
    assert place(page) == "program/1984?run=2&step=2"
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("token 2 of 10")).to_be_visible()


def test_an_input_outside_the_vocabulary_is_refused_in_words(visit, expect):
    page = visit.open("trace")
    visit.expected = "status of 400"
    page.get_by_label("Input").fill("banana")
    page.get_by_label("Input").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("banana")


def test_an_interval_is_brushed_on_either_chart(visit, expect):
    page = visit.open("training")
    expect(page.locator(".u-over")).to_have_count(2)
    for chart in page.locator(".u-over").all():
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        page.mouse.move(box["x"] + 0.30 * box["width"], box["y"] + 50)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.69 * box["width"], box["y"] + 60, steps=4)
        page.mouse.up()
        expect(page.get_by_role("heading", name="Helped most, steps 8 to 16")).to_be_visible()
        assert place(page) == "training?from=8&to=16"
        page.get_by_role("button", name="Clear").click()
        expect(page.get_by_role("heading", name="Helped most")).to_have_count(0)
    page.get_by_label("From step").select_option("4")
    expect(page.get_by_role("heading", name="Helped most, steps 4 to 24")).to_be_visible()


def test_quanta_are_sorted_and_filtered(visit, expect, get):
    quanta = get("runs/0/quanta")["quanta"]
    page = visit.open("quanta")
    names = page.locator(".table-row .mono")
    by_demand = [row["name"] for row in sorted(quanta, key=lambda row: -row["demand"])]
    page.get_by_role("button", name="Demand").click()
    expect(names).to_have_text(by_demand)
    page.get_by_role("button", name="Demand").click()
    expect(names).to_have_text([row["name"] for row in sorted(quanta, key=lambda row: row["demand"])])
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type(quanta[0]["name"])
    expect(names).to_have_text([row["name"] for row in quanta if quanta[0]["name"] in row["name"]])
    assert place(page) == f"quanta?sort=demand&q={quanta[0]['name']}"


def test_the_last_quantum_is_found_and_broken_by_clicking_alone(visit, expect, get):
    last = max(get("runs/0/quanta")["quanta"], key=lambda row: row["acquired"])
    page = visit.open("quanta")
    page.get_by_role("link", name=last["name"]).first.click()
    expect(page.get_by_role("heading", name=last["name"])).to_be_visible()
    page.get_by_role("link", name="See what happens without it").click()
    expect(page.get_by_text(f"{last['name']} ablated. What the Q-model says")).to_be_visible()
    page.get_by_role("button", name="Measure on").click()
    expect(page.get_by_label(f"{last['name']} ablated").get_by_text("Network: accuracy lost")).to_be_visible()


def test_units_are_broken_in_the_graph_and_both_models_answer(visit, expect, get):
    page = visit.open("intervene/346")
    page.get_by_role("button", name="L0.Q0", exact=True).click()
    before = get("runs/0/preview", input="346", unit="ablate L0.Q0")["steps"][0]
    page.get_by_role("button", name="ablate L0.Q0", exact=True).click()
    expect(page.get_by_role("button", name="ablate L0.Q0", exact=True)).to_have_attribute("aria-pressed", "true")
    tokens = page.locator(".predictions.changed .token")
    expect(tokens.first).to_have_text(before["after"]["top"][0][0])
    page.get_by_role("button", name="force L0.Q0", exact=True).click()
    expect(page.get_by_role("button", name="Undo force L0.Q0")).to_be_visible()
    assert place(page) == "intervene/346?unit=L0.Q0&units=ablate L0.Q0\nforce L0.Q0"
    page.get_by_role("button", name="delete-all").click()
    expect(
        visit.settled().locator("section.panel", has=page.get_by_role("heading", name="Network", exact=True))
    ).to_contain_text("counterpart")
    page.get_by_role("button", name="Undo all").click()
    expect(page.get_by_text("Nothing is broken yet")).to_be_visible()


def test_back_and_forward_go_through_what_was_seen(visit, expect):
    page = visit.open("quanta")
    page.locator(".table-row").first.click()
    expect(page.get_by_role("heading", name="Events in context")).to_be_visible()
    page.get_by_role("link", name="Claims").click()
    expect(page.get_by_role("heading", name="Claims")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Events in context")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Quanta", exact=True)).to_be_visible()
    page.go_forward()
    expect(page.get_by_role("heading", name="Events in context")).to_be_visible()


STATES = {
    "quanta/L0.Q0?events=absent": "button[aria-pressed=true]:has-text('Not helped')",
    "trace/346?step=99": "text=token 1 of 1",
    "training?from=8&to=16": "text=steps 8 to 16",
    "intervene/346?units=force+L0.Q0": "button:has-text('force L0.Q0')",
    "program/1984?run=2&quantum=PLACE&step=1": "h2:has-text('PLACE')",
    "dynamics?run=3&t=30": "h2:has-text('At step 30')",
    "compare?base=1": "text=of again",
    "claims?verdict=new": "button[aria-pressed=true]:has-text('new')",
}


def test_every_state_has_an_address(visit, expect):
    for address, shown in STATES.items():
        expect(visit.open(address).locator(shown).first, address).to_be_visible()


def test_events_are_drawn_as_they_come_into_view(visit, expect, get):
    quantum = max(get("runs/0/quanta")["quanta"], key=lambda row: row["events"])
    page = visit.open(f"quanta/{quantum['name']}?events=absent")
    total = get("runs/0/events", name=quantum["name"], which="absent")["total"]
    events = page.get_by_role("list", name="Events")
    expect(events.locator(".event .chip").first).to_be_visible()
    assert events.locator(".event").count() < min(total, 60)
    events.evaluate("list => { list.scrollTop = list.scrollHeight }")
    last = get("runs/0/events", name=quantum["name"], which="absent", offset=(total - 1) // 50 * 50)["events"][-1]
    expect(events.locator(f".event[aria-posinset='{total}'] .chip")).to_have_text(" ".join(last["prompt"]))


def test_a_slider_moves_both_forests(visit, expect):
    page = visit.open("dynamics?run=3&t=0")
    page.get_by_role("slider").focus()
    page.keyboard.press("End")
    expect(page.get_by_role("heading", name="At step 60")).to_be_visible()
    assert place(page) == "dynamics?run=3&t=60"
