"""Both models on one input before and after interventions, against passes made by hand."""

import pytest
import torch

from quantascope.qmodel.recovered.interventions import partner_rows, replace_all, replace_one
from quantascope.qmodel.recovered.preview import preview
from quantascope.qmodel.recovered.surgery import Surgery
from quantascope.qmodel.recovered.trace import Asked, trace
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events


@pytest.fixture(scope="module")
def asked(tiny_fit):
    """The input 346 with what the Q-model says to it."""
    task, shown = tiny_fit.source.sequence_task, trace(tiny_fit, "346")
    return Events.of([task.prompt_tokens(346)], [[task.token[word] for word in shown.output]])


def test_before_any_intervention_both_models_are_those_of_the_trace(tiny_fit):
    shown, seen = trace(tiny_fit, "346"), preview(tiny_fit, "346", ["force L0.Q0", "ablate L0.Q0"])
    assert tuple(step.token for step in seen.steps) == shown.output
    for step, same in zip(seen.steps, shown.steps, strict=True):
        for found, known in ((step.before, same.top), (step.source_before, same.source_top)):
            assert [word for word, _ in found.top] == [word for word, _ in known]
            assert [share for _, share in found.top] == pytest.approx([share for _, share in known])


@torch.no_grad()
def test_interventions_are_made_together(tiny_fit, asked):
    model = tiny_fit.model
    names = model.names
    first, second = names[0], names[-1]
    seen = preview(tiny_fit, "346", [f"ablate {first}", f"force {second}"])
    by_hand = model.run(asked, surgery=Surgery(gates={0: False, len(names) - 1: True})).logits.softmax(-1)
    for step, probability, token in zip(seen.steps, by_hand, asked.target, strict=True):
        assert step.after.probability == pytest.approx(float(probability[token]))
    assert all(first not in {unit.name for unit in step.gates} for step in seen.steps)
    assert all(second in {unit.name for unit in step.gates} for step in seen.steps)
    several = model.layers[0] != model.layers[-1]
    assert (seen.note is not None) == several
    assert all((step.source_after is None) == several for step in seen.steps)


@torch.no_grad()
def test_in_the_source_the_change_of_the_message_is_added_behind_the_layer(tiny_fit, asked):
    model, source = tiny_fit.model, tiny_fit.source.model()
    seen = preview(tiny_fit, "346", ["ablate L0.Q0"])
    theirs = source.run(asked)
    stream = theirs.stream + theirs.updates[0] - model.run(asked).message[0]
    by_hand = source.resume(stream, asked, block=1).softmax(-1)
    for step, probability, token in zip(seen.steps, by_hand, asked.target, strict=True):
        assert step.source_after.probability == pytest.approx(float(probability[token]), abs=1e-6)


@torch.no_grad()
def test_one_quantum_replaced_is_what_all_replaced_is_where_it_alone_sends(tiny_fit):
    model, events = tiny_fit.model, tiny_fit.source.events("causal")[:40]
    alone = replace_one(model, events, 0)
    others = torch.ones_like(model.channels.open)
    others[:, 0] = False
    everything = replace_all(model, events) | Surgery(cut=others)
    one = model.run(events, surgery=alone | Surgery(cut=others)).logits
    assert torch.allclose(one, model.run(events, surgery=everything).logits, atol=1e-5)
    assert torch.equal(alone.received, model.run(events).activity[:, partner_rows(events, seed=0)])


def test_what_replaces_messages_is_another_input_of_the_same_shape(tiny_fit, monkeypatch):
    task = tiny_fit.source.sequence_task
    known = [task.token[word] for word in task.right_answer(346)]
    monkeypatch.setattr(Asked, "answered", lambda asked, run, model: known)
    seen = preview(tiny_fit, "346", ["replace L0.Q0"])
    digits = "".join(seen.donor.split()[1:-1])
    assert len(digits) == 3
    assert len(task.right_answer(int(digits))) == len(known)
    assert seen.right
    assert seen.note is not None
    said = [task.token[word] for word in task.right_answer(int(digits))]
    both = Events.of([task.prompt_tokens(346), task.prompt_tokens(int(digits))], [known, said])
    surgery = replace_one(tiny_fit.model, both, 0)
    with torch.no_grad():
        by_hand = tiny_fit.model.run(both, surgery=surgery).logits.softmax(-1)
    for step, probability, token in zip(seen.steps, by_hand, known, strict=False):
        assert step.after.probability == pytest.approx(float(probability[token]))


def test_two_replacements_at_once_are_refused(tiny_fit):
    task = tiny_fit.source.sequence_task
    events = Events.of([task.prompt_tokens(346), task.prompt_tokens(347)], [[4], [4]])
    with pytest.raises(InvalidConfig, match="replaced twice"):
        _ = replace_all(tiny_fit.model, events) | replace_one(tiny_fit.model, events, 0)
    with pytest.raises(InvalidConfig, match="no intervention is given"):
        preview(tiny_fit, "346", [])
