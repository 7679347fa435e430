"""Lessons of some examples and in other tokens; guidance inside `transformers.Trainer`."""

import importlib.util
from pathlib import Path

import pytest
import torch

from quantascope.guidance.alignment import Guidance, event_updates
from quantascope.guidance.lesson import Lesson
from quantascope.models import Transformer, TransformerConfig
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events

DOCS = Path(__file__).parents[2] / "docs"
EVENTS = Events.of(prompts=[[1, 6, 2], [1, 7, 7, 2], [1, 8, 2]], outputs=[[5, 3], [5, 9, 3], [4, 3]])
MODEL = Transformer(vocabulary=12, positions=10, config=TransformerConfig(blocks=3, width=8), seed=0)


@pytest.fixture
def guidance() -> Guidance:
    draw = torch.Generator().manual_seed(0)
    return Guidance.of(torch.randn(EVENTS.count, 3, 4, generator=draw), blocks=3, width=8)


def test_the_events_of_some_examples_are_those_of_the_examples_alone():
    part = EVENTS.taken(torch.tensor([2, 0]))
    alone = Events.of(prompts=[[1, 8, 2], [1, 6, 2]], outputs=[[4, 3], [5, 3]])
    for field in ("tokens", "example", "position", "target", "length"):
        assert torch.equal(getattr(part, field), getattr(alone, field)), field
    with pytest.raises(InvalidConfig, match=r"there are examples 0 to 2, and \[3\] are asked for"):
        EVENTS.taken(torch.tensor([3]))


def test_a_minibatch_is_aligned_as_its_events_are_among_all(guidance):
    lesson, whole = Lesson.of(EVENTS, guidance), MODEL.run(EVENTS)
    chosen = [5, 6, 0, 1]  # the events of examples 2 and 0
    part = lesson.at(torch.tensor([2, 0]))
    updates = [update[chosen] for update in event_updates(whole, EVENTS)]
    error = torch.stack(updates, 1) @ guidance.projection - guidance.target[chosen]
    execution = MODEL.run(part.events)
    torch.testing.assert_close(part.alignment(execution), error.square().sum(-1).mean())
    expected = torch.nn.functional.cross_entropy(whole.logits[chosen], EVENTS.target[chosen])
    torch.testing.assert_close(part.cross_entropy(execution), expected)
    torch.testing.assert_close(part.loss(execution), expected + part.alignment(execution))


def test_the_mean_over_minibatches_of_one_length_is_the_whole(guidance):
    lesson = Lesson.of(EVENTS.taken(torch.tensor([0, 2])), guidance.at(torch.tensor([0, 1, 5, 6])))
    parts = [lesson.at(torch.tensor([example])) for example in (0, 1)]
    mean = sum(part.loss(MODEL.run(part.events)) for part in parts) / 2
    torch.testing.assert_close(mean, lesson.loss(MODEL.run(lesson.events)))


def test_a_target_belongs_to_the_first_token_of_what_the_program_says(guidance):
    """Two of the program's tokens take several of the network's."""
    answers = [[[5], [3]], [[5, 10], [9], [3]], [[4, 4, 11], [3]]]
    lesson = Lesson.in_tokens([[1, 6, 2], [1, 7, 7, 2], [1, 8, 2]], answers, guidance)
    assert lesson.events.target[lesson.aligned].tolist() == [5, 3, 5, 9, 3, 4, 3]
    execution = MODEL.run(lesson.events)
    updates = [update[lesson.aligned] for update in event_updates(execution, lesson.events)]
    torch.testing.assert_close(lesson.alignment(execution), guidance.alignment(updates))
    part = lesson.at(torch.tensor([2, 1]))
    assert part.events.target.tolist() == [4, 4, 11, 3, 5, 10, 9, 3]
    assert part.aligned.tolist() == [0, 3, 4, 6, 7]
    assert torch.equal(part.guidance.target, guidance.target[[5, 6, 2, 3, 4]])


def test_tokens_that_do_not_match_the_program_are_refused(guidance):
    with pytest.raises(InvalidConfig, match="targets for 7 events, but the answers have tokens for 2"):
        Lesson.in_tokens([[1, 6, 2]], [[[5], [3]]], guidance)
    with pytest.raises(InvalidConfig, match="give each at least one"):
        Lesson.in_tokens([[1, 6, 2]], [[[5], []]])
    with pytest.raises(InvalidConfig, match="targets for 7 events, but index 7 was given"):
        guidance.at(torch.tensor([0, 7]))
    with pytest.raises(InvalidConfig, match="choose among answered examples"):
        Lesson(EVENTS, 3, guidance).at(torch.tensor([0]))


@pytest.fixture(scope="module")
def trainer_file():
    """The file that own-program.md uses, as a module."""
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate", reason="Trainer needs accelerate")
    specification = importlib.util.spec_from_file_location("guided_trainer", DOCS / "guided_trainer.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def plural_teacher(tmp_path_factory) -> Path:
    """A Q-model of the plurals after a few steps; it need not know them here."""
    from quantascope.qmodel.compiled.fit import CompiledLearner, learn_compiled

    short = {"training.steps": 3, "training.schedule.decay": "none", "model.width": 8}
    run = tmp_path_factory.mktemp("plural") / "run"
    learn_compiled(CompiledLearner(program=str(DOCS / "plural.py")).replace(short), run)
    return run


@pytest.mark.filterwarnings("default")  # of transformers and accelerate themselves
def test_the_trainer_of_the_docs_draws_the_blocks_of_a_gpt2_to_the_program(trainer_file, plural_teacher, tmp_path):
    from transformers import AutoModelForCausalLM

    from quantascope import adapt

    model, tokenizer = trainer_file.train(str(plural_teacher), str(tmp_path / "out"), 25)
    lesson = trainer_file.make_lesson(str(plural_teacher), adapt(model), tokenizer, level_to_block=(1, 2, 3))
    assert lesson.events.count == len(lesson.guidance.target)  # every letter is one token
    torch.manual_seed(0)
    fresh = adapt(type(model)(model.config))
    with torch.no_grad():
        before, after = (lesson.alignment(one.run(lesson.events)) for one in (fresh, adapt(model)))
    assert float(after) < 0.8 * float(before)
    deployed = AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    assert trainer_file.ask(deployed, tokenizer, "cat") == trainer_file.ask(model, tokenizer, "cat")


@pytest.mark.filterwarnings("default")
def test_the_trainer_learns_real_words_with_their_exceptions_and_follows_the_rules(trainer_file, tmp_path):
    from quantascope import adapt
    from quantascope.qmodel.compiled.fit import CompiledLearner, learn_compiled

    short = {"training.steps": 2, "training.schedule.decay": "none", "model.width": 8}
    learner = CompiledLearner(program="inflection", trained_on="training_100", batch=16).replace(short)
    taught = learn_compiled(learner, tmp_path / "rules").taught
    asked = {"program": "inflection", "panel": "training_100", "level_to_block": (0, 1, 1, 2, 3)}
    model, tokenizer = trainer_file.train(str(tmp_path / "rules"), str(tmp_path / "out"), 2, **asked)
    lesson = trainer_file.make_lesson(str(tmp_path / "rules"), adapt(model), tokenizer, **asked)
    words = taught.task.panel("training_100")
    answers = ["".join(taught.task.answer(word)[:-1]) + trainer_file.END for word in words]
    assert tokenizer.decode(lesson.events.target).replace(" ", "") == "".join(answers)
    rows = lesson.events.tokens[0, : lesson.events.position[0] + 1]
    assert tokenizer.decode(rows).replace(" ", "") == "".join(taught.task.prompt(words[0])) + ":"
    assert lesson.events.count == len(lesson.guidance.target) == taught.events("training_100").count


@pytest.mark.filterwarnings("default")
def test_a_step_of_the_trainer_is_a_step_on_the_loss_of_its_minibatch(trainer_file, plural_teacher, tmp_path):
    """Two accumulated halves give the gradient of the whole, computed without the Trainer."""
    from transformers import GPT2Config, GPT2LMHeadModel, TrainingArguments

    from quantascope import adapt

    tokenizer = trainer_file.letter_tokenizer()
    torch.manual_seed(0)
    dropped = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "bos_token_id": 0, "eos_token_id": 0}
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=24, n_embd=8, n_layer=3, n_head=1, **dropped)
    student = adapt(GPT2LMHeadModel(config))
    lesson = trainer_file.make_lesson(str(plural_teacher), student, tokenizer)
    short = lesson.at(torch.arange(4))
    halves = [short.at(torch.tensor(half)) for half in ([0, 1], [2, 3])]
    loss = sum(half.loss(student.run(half.events)) for half in halves) / 2
    before = [weight.detach().clone() for weight in student.parameters()]
    gradient = torch.autograd.grad(loss, list(student.parameters()))
    settings = TrainingArguments(
        str(tmp_path), max_steps=1, per_device_train_batch_size=2, gradient_accumulation_steps=2, optim="sgd",
        learning_rate=0.1, max_grad_norm=0.0, remove_unused_columns=False, use_cpu=True, report_to=[],
        disable_tqdm=True, save_strategy="no", lr_scheduler_type="constant",
    )  # fmt: skip
    trainer = trainer_file.GuidedTrainer(student, short, args=settings)
    trainer._get_train_sampler = lambda *_: None  # in order
    trainer.train()
    for weight, start, slope in zip(student.parameters(), before, gradient, strict=True):
        torch.testing.assert_close(weight.detach(), start - 0.1 * slope, atol=1e-5, rtol=1e-4)
