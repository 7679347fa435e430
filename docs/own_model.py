"""A tiny GPT-2 that learns to pronounce made-up words, for own-model.md: python docs/own_model.py FOLDER [STEPS].

FOLDER/pairs.jsonl holds words and their pronunciations, FOLDER/checkpoints what `transformers.Trainer` saves.
Without accelerate, which the Trainer needs, a plain loop trains the same model and saves it in the same layout.
"""

import importlib.util
import json
import random
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, Trainer, TrainingArguments
from transformers.utils import logging

VOWELS = {"a": "æe", "e": "ɛi", "i": "ɪa", "o": "ɒo", "u": "ʌu"}  # short and long
PAIRS = {"sh": "ʃ", "ph": "f"}
END, LENGTH, BATCH = "<end>", 16, 64


def sound(word: str) -> str:
    """The pronunciation: c and g are soft before e and i; a final e is silent, and the vowel before it long."""
    silent = len(word) > 3 and word[-1] == "e" and word[-2] not in VOWELS and word[-3] in VOWELS
    last, out, at = len(word) - silent, "", 0
    while at < last:
        letter, after = word[at], word[at + 1 : at + 2]
        if letter + after in PAIRS:
            out, at = out + PAIRS[letter + after], at + 1
        elif letter in "cg":
            out += {"c": "ks", "g": "gʒ"}[letter][after in ("e", "i")]
        elif letter in VOWELS:
            out += VOWELS[letter][silent and at == last - 2]
        else:
            out += letter
        at += 1
    return out


def words(count: int, seed: int = 0) -> list[str]:
    """Distinct words of one or two syllables."""
    draw, found = random.Random(seed), dict[str, None]()
    onsets, ends = [*"bcdgklmnprst", "sh", "ph"], ["", *"lmnrst", "ce", "ge", "le", "te"]
    while len(found) < count:
        syllables = (draw.choice(onsets) + draw.choice([*VOWELS]) for _ in range(draw.randint(1, 2)))
        found["".join(syllables) + draw.choice(ends)] = None
    return list(found)


def write_pairs(file: Path, count: int) -> list[tuple[str, str]]:
    """Prompts and answers, also as JSON lines; every tenth is for quantascope alone, as it holds them out."""
    pairs = [(word + ":", sound(word)) for word in words(count)]
    rows = [{"prompt": prompt, "answer": answer} for prompt, answer in pairs]
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return [pair for place, pair in enumerate(pairs) if place % 10 != 9]


def letter_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer in which every letter and every sound is a token."""
    symbols = "".join(VOWELS.values()) + "abcdefghijklmnopqrstuvwxyz:ʃʒ"
    known = {symbol: token for token, symbol in enumerate([END, "<unknown>", *dict.fromkeys(symbols)])}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="<unknown>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END, unk_token="<unknown>")


def encoded(tokenizer: PreTrainedTokenizerFast, prompt: str, answer: str) -> dict[str, list[int]]:
    """An example for training: only the answer and its end are predicted."""
    asked, said = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (prompt, answer + END))
    rest = LENGTH - len(asked) - len(said)
    return {
        "input_ids": [*asked, *said, *[0] * rest],
        "attention_mask": [*[1] * (LENGTH - rest), *[0] * rest],
        "labels": [*[-100] * len(asked), *said, *[-100] * rest],
    }


def batched(examples: list[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
    """Examples as tensors."""
    return {name: torch.tensor([example[name] for example in examples]) for name in examples[0]}


def train(out: Path, steps: int = 600, saves: int = 10, count: int = 800) -> Path:
    """Train and save: step 0 as well, because what is learned before the first checkpoint cannot be seen."""
    out.mkdir(parents=True, exist_ok=True)
    folder, tokenizer = out / "checkpoints", letter_tokenizer()
    examples = [encoded(tokenizer, *pair) for pair in write_pairs(out / "pairs.jsonl", count)]
    torch.manual_seed(0)
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=len(tokenizer), n_positions=LENGTH, n_embd=32, n_layer=2, n_head=2, **ends)
    )

    def save(step: int) -> None:
        model.save_pretrained(folder / f"checkpoint-{step}")
        tokenizer.save_pretrained(folder / f"checkpoint-{step}")

    save(0)
    if importlib.util.find_spec("accelerate"):
        settings = TrainingArguments(
            folder, max_steps=steps, save_steps=steps // saves, per_device_train_batch_size=BATCH,
            learning_rate=3e-3, use_cpu=True, report_to=[], disable_tqdm=True, logging_steps=steps // saves,
            dataloader_pin_memory=False,
        )  # fmt: skip
        Trainer(model, settings, batched, examples, processing_class=tokenizer).train()
    else:
        optimizer, draw = torch.optim.AdamW(model.parameters(), 3e-3), random.Random(0)
        for step in range(1, steps + 1):
            optimizer.zero_grad()
            model(**batched(draw.sample(examples, min(BATCH, len(examples))))).loss.backward()
            optimizer.step()
            if step % (steps // saves) == 0:
                save(step)
    return folder


if __name__ == "__main__":
    torch.set_num_threads(1)  # a network this small is no faster with more
    logging.disable_progress_bar()
    print(train(Path(sys.argv[1]), *map(int, sys.argv[2:])))
