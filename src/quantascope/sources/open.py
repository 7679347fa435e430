"""`open_source`: opens a run folder, a Python file or a folder of checkpoints as a `Source`."""

from dataclasses import replace
from pathlib import Path

import torch

from quantascope.models.device import CPU, find_device
from quantascope.program.source import split_entry
from quantascope.runs.errors import DamagedArtefact, InvalidConfig, RunMismatch
from quantascope.runs.run_directory import is_run, read_run
from quantascope.sources.code import CodeConfig, read_code
from quantascope.sources.hugging_face import (
    HuggingFaceConfig,
    findings_folder,
    hugging_face_source,
    open_config,
)
from quantascope.sources.source import Source
from quantascope.sources.trained import SourceConfig, read_source
from quantascope.sources.user_file import call_named, load_name
from quantascope.training.checkpoint_names import find_checkpoints


def open_source(
    where: str | Path,
    *,
    task: str | None = None,
    data: str | Path | None = None,
    length: int | None = None,
    examples: int | None = None,
    branch: str | None = None,
    device: str | torch.device | None = None,
) -> Source:
    """Open a source: a run folder, `FILE.py:NAME`, or a folder of Hugging Face checkpoints.

    Args:
        where: The location; NAME is a `Source`, or a function without arguments that returns one.
        task: `FILE.py:NAME` of the task, for a run that was trained on a task from a file.
        data: For checkpoints: text, or JSON lines or parquet of prompt and answer; saved for later calls.
        length: For checkpoints with a text: tokens per window.
        examples: For checkpoints: largest number of examples.
        branch: For checkpoints of several stages in one folder: the stage.
        device: Device that the network runs on: cpu, cuda, cuda:N or mps. Default: the device of the Source in a
            file, else the CPU.
    """
    chosen, path = find_device(CPU if device is None else device), Path(where)
    named = (str(where), *(("--task", task) if task else ()))
    if path.suffix == ".py" and not path.is_dir():
        raise InvalidConfig(f"{where} does not name a Source; write FILE.py:NAME, as in {where}:source")
    if split_entry(str(where))[1] is not None and not path.is_dir():
        found = _from_file(str(where))
        return replace(found, named=named, device=found.device if device is None else chosen)
    if not path.is_dir():
        raise DamagedArtefact(
            f"there is no folder {where}; give a run folder, FILE.py:NAME, or a folder of checkpoints"
        )
    if is_run(path):
        return replace(_from_run(path, task, chosen), named=named)
    if data is not None:
        options = {"length": length, "examples": examples, "branch": branch}
        given = {name: one for name, one in options.items() if one is not None}
        return replace(hugging_face_source(path, data, **given, device=chosen), named=named)
    if is_run(findings_folder(path)):
        return replace(_from_run(findings_folder(path), task, chosen), named=named)
    if not find_checkpoints(path, branch=branch):
        raise DamagedArtefact(
            f"{path} is neither a run nor a folder of checkpoints; make a run with quantascope train TASK"
        )
    raise InvalidConfig(
        f"{path} holds checkpoints; give their training data with --data FILE (.txt, .jsonl or .parquet), or "
        "describe another kind of model in a file and give FILE.py:source"
    )


def _from_file(where: str) -> Source:
    found = load_name(where, "a Source")
    made = call_named(where, found) if callable(found) else found
    if not isinstance(made, Source):
        raise InvalidConfig(
            f"{where} is {type(made).__name__}, not a Source; build one with quantascope.module_source(…)"
        )
    return made


def _from_run(path: Path, task: str | None, device: torch.device) -> Source:
    found = read_run(path)
    if found.kind == SourceConfig.KIND:
        return read_source(path, task=task, device=device)
    if found.kind == CodeConfig.KIND:
        return read_code(path, device=device)
    if found.kind == HuggingFaceConfig.KIND:
        config = found.parse(HuggingFaceConfig, make="quantascope discover FOLDER --data FILE")
        return open_config(config, path, device)
    raise RunMismatch(
        f"{path} is a run of '{found.kind}', which is not a source; make one with quantascope train TASK"
    )
