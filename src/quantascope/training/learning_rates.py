"""Learning rates that a `transformers.Trainer` logged, summed up to each checkpoint.

The last checkpoint's `trainer_state.json` has the whole history. Its rates can be summed only if every update was
logged (`logging_steps=1`). Before transformers 4.52 the Trainer logged the rate of the next update instead of the
last one, so those logs are not used.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from quantascope.training.checkpoint_files import require_regular

STATE = "trainer_state.json"


def logged_mass(folders: list[Path], steps: list[int]) -> tuple[Float[np.ndarray, " checkpoints"] | None, str]:
    """The rates summed up to each step, from the folders of the checkpoints; or None and the reason."""
    file = next((file for folder in reversed(folders) if (file := folder / STATE).is_file()), None)
    if file is None:
        return None, ""
    if (version := _version(file.parent)) is not None and version < (4, 52):
        said = ".".join(map(str, version))
        return None, f"transformers {said} logs the rate of the next update in {file}; use 4.52 or later"
    rates = _rates(file)
    absent = [step for step in range(1, steps[-1] + 1) if step not in rates]
    if absent:
        return None, (
            f"{file} has a rate for {steps[-1] - len(absent)} of {steps[-1]} updates; train with logging_steps=1"
        )
    sums = np.cumsum([0.0, *(rates[step] for step in range(1, steps[-1] + 1))])
    return sums[steps], ""


def _rates(file: Path) -> dict[int, float]:
    state = _read(file)
    history = state.get("log_history") if isinstance(state, dict) else None
    rates = {}
    for entry in history if isinstance(history, list) else []:
        step, rate = (entry.get("step"), entry.get("learning_rate")) if isinstance(entry, dict) else (None, None)
        if isinstance(step, int) and isinstance(rate, int | float) and 0 <= rate < math.inf:
            rates[step] = float(rate)
    return rates


def _version(folder: Path) -> tuple[int, int] | None:
    """The version of transformers that wrote a checkpoint, if its config has it."""
    config = _read(folder / "config.json")
    said = config.get("transformers_version") if isinstance(config, dict) else None
    parts = said.split(".")[:2] if isinstance(said, str) else []
    return (int(parts[0]), int(parts[1])) if len(parts) == 2 and all(map(str.isdecimal, parts)) else None


def _read(file: Path) -> Any:
    """The content of an optional file beside the weights; None if it cannot be read."""
    try:
        return json.loads(require_regular(file).read_bytes()) if file.is_file() else None
    except (ValueError, OSError, RecursionError):
        return None
