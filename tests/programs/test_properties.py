"""What programs find, as properties of events."""

import numpy as np

from quantascope.semantics import Units, name_units
from quantascope.tasks.number_naming.properties import naming_properties

NUMBERS = [*range(1, 1200), *range(1200, 999_999, 7919), 3002, 20_000, 100_000, 110_010, 999_999]


def test_the_outcomes_of_the_program_say_the_same(compiled):
    trace = compiled("english").trace(NUMBERS)
    program, table = trace.properties, naming_properties(NUMBERS)
    np.testing.assert_array_equal(program.example, table.example)
    same = {
        "high chunk": "CONTROL_GROUP=HIGH",
        "emit EOS": "BOUNDARY_ACTION=EOS",
        "emit thousand": "EMIT_THOUSAND",
        "emit hundred": "CONTENT_SLOT=HUNDRED_WORD",
        "hundred-digit form": "CONTENT_SLOT=HUNDRED_DIGIT",
        "ten form": "LEXICAL_FORM=TEN",
        "teen form": "LEXICAL_FORM=TEEN",
        "tens form": "LEX_TENS",
        "unit lexeme": "LEX_UNIT",
        "value read": "LEXICAL_VALUE",
        "emit value": "LEXICAL_FORM",
        "tail is a teen": "TAIL_KIND=TEEN",
        "chunk empty": "CHUNK_LENGTH=0",
    }
    for ours, theirs in same.items():
        np.testing.assert_array_equal(table.atom(ours), program.atom(theirs), err_msg=ours)
    assert "SELECT_CHUNK=7" not in program.names


def test_atoms_of_any_program_are_its_labels(compiled):
    trace = compiled("addition").trace([(5, 7), (99_999, 1), (40, 2)])
    table, labels = trace.properties, trace.labels
    for quantum, name in enumerate(trace.graph.names):
        np.testing.assert_array_equal(table.atom(name), labels.active[:, quantum])
        for code, value in enumerate(trace.outcomes[quantum]):
            atom = f"{name}={getattr(value, 'name', value)}"
            if atom in table.names:
                np.testing.assert_array_equal(table.atom(atom), labels.outcome[:, quantum] == code)
    assert {"STAGE=COLUMN", "STAGE=END"} <= set(table.names)


def test_units_of_any_task_are_named_by_its_program(compiled):
    """A unit that opens on a carry into the last columns is told in the program's own words."""
    draw = np.random.default_rng(0).integers(0, 10_000, size=(400, 2)).tolist()
    panels = []
    for pairs in (draw[:200], draw[200:]):
        table = compiled("addition").trace([tuple(pair) for pair in pairs]).properties
        active = table.atom("CARRY=1") & table.atom("EMIT_DIGIT")
        panels.append((table, Units.of(["unit"], active[None])))
    [named] = name_units(*panels)
    assert named.score.f1 == 1
    assert set(named.description.atoms) >= {"CARRY=1"}
