"""The English program: the paper's graph, and every name."""

import itertools

import pytest

from quantascope.program import State
from quantascope.program.plain_run import PlainRun, Replacement
from quantascope.programs import english
from quantascope.qmodel import CompiledConfig, CompiledQModel, SupervisedQModel
from quantascope.tasks.number_naming import LARGEST, PANELS, naming_events, number_name

EDGES = {
    "HIGH_CONTENT_LENGTH": ["CONTROL_GROUP"],
    "CONTROL_GROUP": ["SELECT_CHUNK", "GROUP_PROGRESS"],
    "SELECT_CHUNK": ["HUNDREDS_COMPONENT", "TAIL_TENS_DIGIT", "TAIL_UNIT_DIGIT"],
    "TAIL_TENS_DIGIT": ["TAIL_KIND"],
    "TAIL_UNIT_DIGIT": ["TAIL_KIND"],
    "HUNDREDS_COMPONENT": ["CHUNK_LENGTH"],
    "TAIL_KIND": ["CHUNK_LENGTH"],
    "GROUP_PROGRESS": ["BOUNDARY_ACTION"],
    "CHUNK_LENGTH": ["BOUNDARY_ACTION"],
    "BOUNDARY_ACTION": ["EMIT_THOUSAND", "EMIT_EOS", "CONTENT_SLOT"],
    "CONTENT_SLOT": ["EMIT_HUNDRED", "LEXICAL_FORM", "LEXICAL_VALUE"],
    "LEXICAL_FORM": ["EMIT_TEN", "LEX_UNIT", "LEX_TEEN", "LEX_TENS"],
    "LEXICAL_VALUE": ["LEX_UNIT", "LEX_TEEN", "LEX_TENS"],
}
CARDINALITIES = [[5], [2], [2000, 5], [10, 10, 10], [6], [5], [3], [4, 1, 1], [1, 4, 18], [1, 9, 9, 8]]


def test_the_graph_is_the_papers(compiled):
    graph = compiled("english").to_json()
    edges = [tuple(edge) for edge in graph["edges"]]
    assert sorted(edges) == sorted((parent, child) for parent, children in EDGES.items() for child in children)
    assert (len(graph["quanta"]), len(edges), graph["levels"]) == (20, 25, 10)
    levels = itertools.groupby(graph["quanta"], key=lambda quantum: quantum["level"])
    assert [sorted(q["cardinality"] for q in level) for _, level in levels] == [sorted(c) for c in CARDINALITIES]


def test_one_quantum_comes_after_a_guard_that_is_no_edge(compiled):
    """LEXICAL_VALUE does not run where LEXICAL_FORM has found TEN: the paper's graph leaves that out."""
    assert compiled("english").passed_guards == (("LEXICAL_FORM", "LEXICAL_VALUE"),)
    witness = english.predict.registry.names.index("LEXICAL_FORM")
    run = PlainRun(english.predict, State(21, ("twenty",)), Replacement(witness, english.LexicalForm.TEN))
    names = [english.registry.names[quantum] for quantum in run.calls]
    assert "LEXICAL_VALUE" not in names
    assert names[-1] == "EMIT_TEN"


@pytest.mark.parametrize("program", ["french", "addition", "roman", "clock"])
def test_other_programs_have_no_such_guard(compiled, program):
    assert compiled(program).passed_guards == ()


def test_the_compiled_model_has_the_papers_size(compiled):
    model = CompiledQModel(
        graph=compiled("english").graph, vocabulary=44, positions=20, config=CompiledConfig(), seed=0
    )
    assert sum(parameter.numel() for parameter in model.parameters()) == 53_728


def test_the_paper_supervises_fifteen_quanta(compiled):
    model = CompiledQModel(
        graph=compiled("english").graph, vocabulary=44, positions=20, config=CompiledConfig(), seed=0
    )
    outcomes = tuple(len(values) for values in compiled("english").outcomes)
    assert len(SupervisedQModel(model, outcomes, seed=0).taught) == 15


def test_the_audit_domain_is_the_training_numbers_and_as_many_others_as_in_the_paper():
    assert set(PANELS["training"]()) <= set(english.AUDIT)
    assert len(english.AUDIT) == 4396


@pytest.mark.parametrize(("panel", "events"), [("training", 1651), ("balanced", 122_575)])
def test_the_trace_has_the_events_of_the_task(compiled, panel, events):
    numbers = PANELS[panel]()
    trace, asked = compiled("english").trace(numbers), naming_events(numbers)
    assert len(trace) == asked.count == events
    assert trace.example.tolist() == asked.example.tolist()
    assert trace.position.tolist() == asked.index.tolist()
    token = [english.task.token[trace.tokens[row]] for row in trace.row.tolist()]
    assert token == asked.target.tolist()


def test_routing_matters_from_level_seven_on(compiled):
    labels, graph = compiled("english").trace(PANELS["training"]()).labels, compiled("english").graph
    always = [graph.levels[q] for q in range(20) if labels.active[:, q].all()]
    assert sorted(always) == [0, 1, 2, 2, 3, 3, 3, 4, 5, 6]
    assert all(labels.eligible[labels.active])


def test_every_execution_that_any_number_needs_writes_the_right_word(compiled, rng):
    """What is written depends on the chunk in hand and on the length of the other's name alone."""
    representative = {len(number_name(high)): high for high in (1, 21, 100, 101, 121)}
    assert set(representative) == {1, 2, 3, 4}
    high = [1000 * chunk for chunk in range(1, 1000)]
    low = [1000 * chunk + tail for chunk in (0, *representative.values()) for tail in range(1000)]
    sample = rng.integers(1, LARGEST + 1, 3000).tolist()
    numbers = sorted({*high, *low, *sample} - {0})
    trace = compiled("english").trace(numbers)
    assert [words[:-1] for words in trace.written()] == [number_name(number) for number in numbers]
    assert len({*trace.row.tolist()}) == EXECUTIONS


EXECUTIONS = 27_058
"""Distinct executions over all 999,999 numbers, as `benchmarks/compile.py --all` counts them."""
