"""A GPT-2 in `transformers.Trainer`, guided by plural.py: python docs/guided_trainer.py TEACHER OUT [STEPS].

TEACHER is a run of `quantascope train compiled --program docs/plural.py`. `train` takes other programs too.
"""

import string
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, Trainer, TrainingArguments

from quantascope import adapt
from quantascope.guidance.alignment import Guidance, level_scale, level_sums
from quantascope.guidance.lesson import Lesson
from quantascope.qmodel.compiled.fit import read_compiled

PROGRAM = str(Path(__file__).with_name("plural.py"))
END = "."


def letter_tokenizer():
    """Any tokenizer will do; in this one every letter is a token."""
    known = {letter: token for token, letter in enumerate([END, ":", *string.ascii_letters])}
    letters = Tokenizer(models.WordLevel(known, unk_token=END))
    letters.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return PreTrainedTokenizerFast(tokenizer_object=letters, eos_token=END, pad_token=END)


def encode(tokenizer, text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def question(prompt):
    """The text that asks; a prompt may hold names of several letters, as that of a form."""
    return "".join(prompt) + ":"


def make_lesson(run, student, tokenizer, program=PROGRAM, panel="training", **options):
    """The words of a panel in the network's tokens, and what its blocks should add where the program speaks."""
    teacher = read_compiled(Path(run), program=program)
    task = teacher.taught.task
    words = task.panel(panel)
    levels = level_sums(teacher.model, task.events(words))
    levels = levels * level_scale(levels, 5.0)
    guidance = Guidance.of(levels, blocks=student.depth, width=student.width, **options)
    prompts = [encode(tokenizer, question(task.prompt(word))) for word in words]
    ended = [[END if token == task.end else token for token in answer] for answer in task.answers(words)]
    answers = [[encode(tokenizer, token) for token in answer] for answer in ended]
    return Lesson.in_tokens(prompts, answers, guidance)


class GuidedTrainer(Trainer):
    loss_is_scaled_for_ga = False  # the loss is a mean over the minibatch

    def __init__(self, student, lesson, **options):
        examples = [{"example": number} for number in range(len(lesson.events))]
        super().__init__(student.module, train_dataset=examples, **options)
        self.student, self.lesson = student, lesson

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        part = self.lesson.at(inputs["example"])
        execution = self.student.run(part.events)
        loss = part.loss(execution)
        return (loss, {"logits": execution.logits}) if return_outputs else loss


def train(run, out, steps=400, program=PROGRAM, panel="training", level_to_block=(1, 2, 3)):
    tokenizer = letter_tokenizer()
    torch.manual_seed(0)
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=len(tokenizer), n_positions=40, n_embd=32, n_layer=4, n_head=2, **ends)
    )
    student = adapt(model)  # the same weights
    lesson = make_lesson(run, student, tokenizer, program, panel, level_to_block=level_to_block)
    settings = TrainingArguments(
        out, max_steps=steps, per_device_train_batch_size=64, learning_rate=1e-2, remove_unused_columns=False,
        use_cpu=True, report_to=[], disable_tqdm=True, logging_steps=steps, save_strategy="no",
    )  # fmt: skip
    GuidedTrainer(student, lesson, args=settings).train()
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return model.eval(), tokenizer


def ask(model, tokenizer, word):
    """What the model says; neither program nor Q-model is needed any more."""
    prompt = torch.tensor([encode(tokenizer, question(word))])
    mask = torch.ones_like(prompt)
    said = model.generate(prompt, attention_mask=mask, max_new_tokens=16, do_sample=False)
    return tokenizer.decode(said[0, prompt.shape[1] :]).replace(" ", "").removesuffix(END)


if __name__ == "__main__":
    trained = train(*sys.argv[1:3], *map(int, sys.argv[3:]))
    print({word: ask(*trained, word) for word in ("gnu", "fez", "task")})
