"""A program of rules whose task has exceptions: what its Q-model is taught, and what a guided network learns."""

from dataclasses import replace

import pytest
import torch

from quantascope.guidance.alignment import event_updates, level_sums
from quantascope.guidance.guide import exact_accuracy, learn_guided
from quantascope.guidance.learner import GuidedLearner
from quantascope.guidance.network import build_network
from quantascope.guidance.target import guidance_of, lessons_of
from quantascope.models import TransformerConfig
from quantascope.program.violations import WrongAnswer
from quantascope.programs import mistaken_inflection
from quantascope.qmodel.compiled.fit import CompiledLearner, learn_compiled
from quantascope.qmodel.compiled.program_task import ProgramTask, program_task
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.inflection.lexicon import is_regular
from quantascope.training import Minibatches

PANEL = "training_100"
SHORT = {"training.steps": 2, "training.schedule.decay": "none", "model.width": 8}
LEARNER = GuidedLearner(
    teacher=CompiledLearner(program="inflection", trained_on=PANEL, batch=16).replace(SHORT),
    model=TransformerConfig(blocks=5, width=8, hidden=8),
    batch=16,
).replace({"training.steps": 2})


@pytest.fixture(scope="module")
def taught() -> ProgramTask:
    """The rules of inflection with the answers of the dictionary."""
    return program_task("inflection")


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    return learn_compiled(LEARNER.teacher, tmp_path_factory.mktemp("rules") / "run")


def test_a_qmodel_is_taught_what_the_program_writes_and_a_network_what_the_task_asks(taught):
    words, token = taught.task.panel(PANEL), taught.task.token
    written = [taught.compiled.program.write(word) for word in words]
    assert taught.supervision(PANEL).events.target.tolist() == [token[one] for word in written for one in word]
    answers = [taught.task.answer(word) for word in words]
    assert taught.events(PANEL).target.tolist() == [token[one] for word in answers for one in word]
    assert taught.right(PANEL) == [is_regular(word) for word in words]
    assert taught.right(PANEL).count(False) == 9


def test_a_program_that_is_wrong_about_a_task_without_exceptions_is_still_refused(taught):
    strict = ProgramTask(taught.compiled, replace(taught.task, exceptions=False))
    with pytest.raises(WrongAnswer, match="or `answer` of the task, or declare that the task has exceptions"):
        strict.supervision(PANEL)


def test_labels_of_a_minibatch_are_those_of_its_examples(taught):
    whole = taught.supervision(PANEL)
    chosen = Minibatches(whole.events, 7, seed=1).examples(3)
    part, alone = whole.at(chosen), [whole.at(torch.tensor([int(one)])) for one in chosen]
    assert part.events.target.equal(torch.cat([one.events.target for one in alone]))
    for field in ("active", "eligible", "outcome"):
        assert getattr(part, field).equal(torch.cat([getattr(one, field) for one in alone], 1))
        numbers = [int(n) for one in chosen for n in (whole.events.example == one).nonzero()]
        assert getattr(part, field).equal(getattr(whole, field)[:, numbers])


def test_guidance_only_where_the_program_is_right_leaves_out_the_exceptions(taught, teacher):
    config = LEARNER.replace({"only_right": True})
    model = build_network(config.model, taught.task, seed=0)
    [lesson] = lessons_of(config, teacher, taught, model)
    events, words = taught.events(PANEL), taught.task.panel(PANEL)
    guided = [int(event) for event in range(events.count) if is_regular(words[events.example[event]])]
    assert lesson.aligned.tolist() == guided
    assert lesson.answered == events.count
    whole = guidance_of(LEARNER, teacher, taught, model)
    execution = model.run(events)
    updates = [update[guided] for update in event_updates(execution, events)]
    torch.testing.assert_close(lesson.alignment(execution), whole.at(torch.tensor(guided)).alignment(updates))


def test_the_target_at_an_exception_is_what_the_qmodel_says_along_the_true_answer(taught, teacher):
    config = LEARNER.replace({"target_norm": None})
    guidance = guidance_of(config, teacher, taught, build_network(config.model, taught.task, seed=0))
    exception = next(word for word in taught.task.panel(PANEL) if not is_regular(word))
    place = taught.task.panel(PANEL).index(exception)
    there = guidance.target[taught.events(PANEL).example == place]
    torch.testing.assert_close(there, level_sums(teacher.model, taught.task.events([exception])))


def test_a_network_may_learn_another_panel_than_its_teacher(taught, teacher, tmp_path):
    config = LEARNER.replace({"trained_on": "training_300"})
    [lesson] = lessons_of(config, teacher, taught, build_network(config.model, taught.task, seed=0))
    assert lesson.events.count == taught.events("training_300").count
    done = learn_guided(config, tmp_path / "run", teacher)
    assert done.accuracy == exact_accuracy(done.model, taught)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"routing": "oracle"}, "does not route along answers that it does not write"),
        ({"batch": 101}, "batch = 101 of 100 examples"),
        ({"teacher.program": "mistaken_inflection:wrong", "only_right": True}, "leaves nothing to guide"),
    ],
)
def test_guidance_that_cannot_be_is_refused_before_anything_is_written(tmp_path, changes, says):
    config = LEARNER.replace(changes)
    with pytest.raises(InvalidConfig, match=says):
        learn_guided(config, tmp_path / "run", None)
    assert not (tmp_path / "run").exists()


def test_settings_that_were_added_leave_older_hashes_alone():
    plain = GuidedLearner()
    assert not {"batch", "only_right", "trained_on"} & plain.model_dump(mode="json").keys()
    assert "batch" not in plain.model_dump(mode="json")["teacher"]
    assert plain.replace({"only_right": True}).hash() != plain.hash()


def test_the_incomplete_rules_are_right_for_nine_regular_words_in_ten_and_the_wrong_ones_for_none(taught):
    words = taught.task.panel("test_regular")
    answers = [tuple(taught.task.answer(word)) for word in words]
    right = sum(map(lambda word, answer: mistaken_inflection.incomplete.write(word) == answer, words, answers))
    assert 0.88 < right / len(words) < 0.92
    assert not any(map(lambda word, answer: mistaken_inflection.wrong.write(word) == answer, words, answers))


def test_mistaken_programs_have_the_graph_of_the_right_one(taught):
    for name in ("incomplete", "wrong"):
        assert program_task(f"mistaken_inflection:{name}").compiled.graph == taught.compiled.graph
