"""A folder of Hugging Face checkpoints as a source, without any user code.

    checkpoints   config.json gives the family, which determines blocks, hidden units and losses
    tokenizer     beside the checkpoints, or in one of them
    data          a text, or pairs of prompt and answer: training data and held-out data

Results are saved beside the checkpoints in FOLDER.quantascope, from which later commands read the settings.
"""

import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import torch

from quantascope.models.device import CPU, find_device
from quantascope.models.hugging_face import (
    FAMILIES,
    adapt,
    causal_lm_losses,
    layers_of,
    mlp_groups,
    model_of,
    read_weights,
)
from quantascope.models.residual import ResidualModel
from quantascope.runs.artefact import read_json, read_table
from quantascope.runs.config import Config, Positive
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.runs.files import file_digest
from quantascope.runs.run_directory import RunDirectory
from quantascope.sources.losses import ModuleLosses
from quantascope.sources.source import Source
from quantascope.tasks.text import TextExample, TextTask, split, windows
from quantascope.training import Trajectory

SUFFIX = ".quantascope"


class HuggingFaceConfig(Config):
    """Checkpoints and data of a source; `data_digest` detects a changed data file."""

    KIND: ClassVar[str] = "hugging-face source"

    checkpoints: str
    branch: str | None = None
    data: str
    data_digest: str
    length: Positive = 64
    """Tokens per window of text."""
    examples: Positive | None = None
    """Use only this many examples, the first ones; None for all."""


def findings_folder(checkpoints: Path) -> Path:
    """The folder for results of a series: beside it, even if the series is the current folder.

    >>> findings_folder(Path("runs/series")), findings_folder(Path("/"))
    (PosixPath('runs/series.quantascope'), PosixPath('/.quantascope'))
    """
    named = checkpoints.resolve() if checkpoints.name in ("", "..") else checkpoints
    return named.parent / (named.name + SUFFIX)


def hugging_face_source(
    checkpoints: Path | str,
    data: Path | str,
    *,
    length: int = 64,
    examples: int | None = None,
    branch: str | None = None,
    out: Path | None = None,
    device: str | torch.device = CPU,
) -> Source:
    """The source of a folder of checkpoints and of data: text, or JSON lines or parquet of prompt and answer.

    Text is split into windows of `length` tokens. A column `panel` in the data assigns examples to panels; without
    it, every tenth example is held out.
    """
    folder, file = Path(checkpoints).absolute(), Path(data).absolute()
    if not file.is_file():
        raise InvalidConfig(f"there is no data file {data}; give a .txt, .jsonl or .parquet file")
    config = HuggingFaceConfig(
        checkpoints=str(folder),
        branch=branch,
        data=str(file),
        data_digest=file_digest(file),
        length=length,
        examples=examples,
    )
    return open_config(config, out or findings_folder(folder), device)


def open_config(config: HuggingFaceConfig, out: Path, device: str | torch.device = CPU) -> Source:
    """The source of a config, whose findings are kept in `out`."""
    where = find_device(device)
    folder, file = Path(config.checkpoints), Path(config.data)
    if not file.is_file() or file_digest(file) != config.data_digest:
        state = "is gone" if not file.is_file() else "has changed"
        raise RunMismatch(
            f"{file} {state} since {out} was made with it; restore it, or move {out} away and give --data again"
        )
    trajectory = Trajectory.open(folder, reader=read_weights, branch=config.branch)
    last = trajectory.files[-1][0].parent
    _refuse_other_families(last)
    trajectory.check()
    module = model_of(trajectory.files[-1])
    task = _task(config, file, _tokenizer(last, folder), module)
    decoder = adapt(module)

    def model_at(step: int) -> ResidualModel:
        return decoder.at(trajectory.at([step]).load(0))

    run = RunDirectory.open(out, config)
    return Source(
        folder=out,
        identity=run.hash,
        trajectory=trajectory,
        losses=ModuleLosses(module, causal_lm_losses),
        layers=layers_of(module),
        task=task,
        model_at=model_at,
        replay_steps=tuple(step for step in trajectory.steps.tolist() if step > 0),
        hidden_units=mlp_groups(module),
        device=where,
    )


def _refuse_other_families(checkpoint: Path) -> None:
    """Raise if a model has no adapter, before any weight is read."""
    file = checkpoint / "config.json"
    if not file.is_file():
        raise InvalidConfig(
            f"{checkpoint} has no config.json, so it is not a Hugging Face checkpoint; save checkpoints with "
            "save_pretrained, or describe the model in a file with quantascope.module_source and give "
            "FILE.py:source"
        )
    about = read_json(file, remedy="restore it, or download it again")
    kind = about.get("model_type") if isinstance(about, dict) else None
    if kind not in FAMILIES:
        raise InvalidConfig(
            f"a model of type '{kind}' has no adapter; there are adapters for {', '.join(FAMILIES)}; describe "
            "another model in a file with quantascope.module_source and give FILE.py:source"
        )


def _task(config: HuggingFaceConfig, file: Path, tokenizer: Any, module: Any) -> TextTask:
    end = tokenizer.eos_token_id

    def encode(text: str) -> list[int]:
        try:
            return list(tokenizer(text, add_special_tokens=False)["input_ids"])
        except Exception as error:  # a tokenizer without an unknown token raises a bare Exception
            reason = " ".join(str(error).split())[:120]
            raise InvalidConfig(
                f"the tokenizer cannot read '{text[:40]}' ({reason}); remove text that it does not know"
            ) from error

    if file.suffix == ".txt":
        panels = split(windows(encode(_text(file)), config.length)[: config.examples])
    elif file.suffix in (".jsonl", ".json", ".parquet"):
        panels = _pairs(_rows(file).head(config.examples or 2**62), file, encode, end)
    else:
        raise InvalidConfig(f"{file.name} has an unknown file type; give .txt, .jsonl or .parquet")
    rows = module.get_input_embeddings().num_embeddings
    known = tokenizer.convert_ids_to_tokens(range(min(len(tokenizer), rows)))
    symbols = [*(str(symbol) for symbol in known), *(f"<unused {token}>" for token in range(len(known), rows))]
    longest = max(len(one.prompt) + len(one.answer) - 1 for panel in panels.values() for one in panel)
    if longest > module.config.max_position_embeddings:
        raise InvalidConfig(
            f"an example takes {longest} positions of {module.config.max_position_embeddings}; give shorter "
            "pairs, or a text with a shorter --length"
        )
    highest = max(max(*one.prompt, *one.answer) for panel in panels.values() for one in panel)
    if highest >= rows:
        raise InvalidConfig(
            f"the tokenizer has token {highest} and the model {rows} embeddings; give the model's own tokenizer"
        )
    return TextTask(
        vocabulary=tuple(symbols),
        positions=module.config.max_position_embeddings,
        end=symbols[end if end is not None else 0],
        encode=encode,
        panels=panels,
        unknown=None if tokenizer.unk_token_id == end else tokenizer.unk_token_id,
    )


def _pairs(
    rows: pl.DataFrame, file: Path, encode: Callable[[str], list[int]], end: int | None
) -> dict[str, tuple[TextExample, ...]]:
    missing = [name for name in ("prompt", "answer") if name not in rows.columns]
    if missing:
        raise InvalidConfig(f"{file} has columns {', '.join(rows.columns)}, but no {missing[0]}; add it")
    examples = [
        _pair(place, prompt, answer, file, encode, end)
        for place, (prompt, answer) in enumerate(zip(rows["prompt"], rows["answer"], strict=True))
    ]
    if "panel" not in rows.columns:
        return split(examples)
    panels: dict[str, list[TextExample]] = {}
    for panel, example in zip(rows["panel"], examples, strict=True):
        panels.setdefault(str(panel), []).append(example)
    if "training" not in panels:
        raise InvalidConfig(f"the column `panel` of {file} names {', '.join(panels)}; one must be training")
    return {name: tuple(members) for name, members in panels.items()}


def _pair(
    place: int, prompt: Any, answer: Any, file: Path, encode: Callable[[str], list[int]], end: int | None
) -> TextExample:
    if not isinstance(prompt, str) or not isinstance(answer, str):
        raise InvalidConfig(
            f"row {place + 1} of {file} is not a pair of texts; give a prompt and an answer as strings"
        )
    asked, said = tuple(encode(prompt)), (*encode(answer), *(() if end is None else (end,)))
    if not asked or not said:
        raise InvalidConfig(f"row {place + 1} of {file} has an empty prompt or answer; leave it out")
    return TextExample(asked, said)


def _rows(file: Path) -> pl.DataFrame:
    if file.suffix == ".parquet":
        return read_table(file, made_by=None, remedy="give a valid parquet file")
    try:
        return pl.DataFrame([json.loads(line) for line in _text(file).splitlines() if line.strip()])
    except (ValueError, pl.exceptions.PolarsError, TypeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise DamagedArtefact(f"{file} holds no JSON lines of prompt and answer ({reason}); fix it") from error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DamagedArtefact(f"{file} cannot be read as UTF-8 text ({error}); convert it") from error


def _tokenizer(*folders: Path) -> Any:
    """Load the tokenizer from the first folder that has one."""
    transformers = importlib.import_module("transformers")
    complaint = "no tokenizer files"
    for folder in folders:
        if not any(
            (folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json", "vocab.json")
        ):
            continue
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        try:
            return transformers.AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
        except (OSError, ValueError, KeyError, ImportError) as error:
            complaint = " ".join(str(error).split())[:120]
    where = " nor ".join(map(str, folders))
    raise InvalidConfig(
        f"there is no tokenizer in {where} ({complaint}); save it there with tokenizer.save_pretrained"
    )
