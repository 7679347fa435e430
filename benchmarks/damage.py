"""Damage to the files of tiny runs of every kind: is any of it taken for a result?

Each trial copies a run, damages one file as disks, copies and people do (a flipped bit, zeroed, overwritten or
exchanged blocks, a file cut short, grown, deleted, or swapped with that of another seed or of another step), and
does what a command does with it. Outcomes:

    refused     an error with a remedy, in one line
    harmless    the same result as without the damage: made again, or not needed
    WRONG       another result, without a word
    TRACEBACK   any other exception

A file may also be changed by somebody who seals it again: one value, column or tensor becomes one of another kind
or is left out. No digest finds that, so another result counts as "believed" and not as wrong, but it must not end
in a traceback. These forgeries are counted apart.

    python benchmarks/damage.py [--trials 1000] [--forgeries 1000] [--seed 1] [--json FILE]
"""

import argparse
import contextlib
import hashlib
import json
import random
import shutil
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import nn

from quantascope.acquisition.learner import HSPLearner, learn
from quantascope.claims.result import Estimate, Result
from quantascope.claims.scoreboard import read_results
from quantascope.discovery import priority_field
from quantascope.discovery.discover import discover
from quantascope.guidance.guide import GuidedLearner, learn_guided
from quantascope.models import MLPConfig, TransformerConfig
from quantascope.qmodel.compiled.fit import CompiledLearner, learn_compiled
from quantascope.qmodel.recovered.fit import SEMANTICS, fit_config, fit_run, read_fit
from quantascope.qmodel.recovered.trace import trace
from quantascope.runs.artefact import (
    read_facts,
    read_table,
    read_tensors,
    write_record,
    write_table,
    write_tensors,
)
from quantascope.runs.errors import QuantascopeError
from quantascope.runs.run_directory import RunDirectory
from quantascope.sources.data_record import OtherData, check_data, keep_data
from quantascope.sources.open import open_source
from quantascope.sources.trained import SourceConfig, train_source
from quantascope.sources.user_file import check_named, keep_file
from quantascope.tasks.hsp import FlatFamily
from quantascope.tasks.packaged import PackagedData
from quantascope.tasks.text import TextTask
from quantascope.training import OptimizerConfig, Pace, Recorder, TrainingConfig, Trajectory

Use = Callable[[Path], Any]
"""What a command does with a run: JSON-like values, which damage must not change."""


@dataclass(frozen=True)
class Kind:
    """A kind of artefact: its files in a run, a twin run of another seed, and what uses it."""

    name: str
    run: Path
    files: str
    use: Use
    twin: Path | None = None
    optional: bool = False
    """Whether nothing says that it must be there."""

    def some(self, draw: random.Random) -> Path:
        """One of its files, relative to the run."""
        return draw.choice(sorted(file.relative_to(self.run) for file in self.run.glob(self.files)))


def damaged(data: bytes, how: str, draw: random.Random) -> bytes:
    """The bytes of a file after an accident."""
    out = bytearray(data)
    size = min(draw.choice((1, 8, 64, 512, 4096)), len(out))
    at, other = (draw.randrange(len(out) - size + 1) for _ in range(2))
    match how:
        case "flipped bit":
            out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
        case "zeroed block":
            out[at : at + size] = bytes(size)
        case "overwritten block":
            out[at : at + size] = draw.randbytes(size)
        case "exchanged blocks":
            out[at : at + size], out[other : other + size] = out[other : other + size], out[at : at + size]
        case "cut short":
            del out[draw.randrange(len(out)) :]
        case "grown":
            out += draw.randbytes(draw.randrange(1, 100))
        case _:
            raise ValueError(how)
    return bytes(out)


BYTES = ("flipped bit", "zeroed block", "overwritten block", "exchanged blocks", "cut short", "grown")
HOW = (*BYTES, "deleted", "of another seed", "of another step")
FORGED = "forged"


def accident(kind: Kind, run: Path, how: str, draw: random.Random) -> bool:
    """Damage a file of a copied run; whether there was anything to damage."""
    name = kind.some(draw)
    file = run / name
    before = file.read_bytes()
    if how == "deleted":
        if kind.optional:
            return False
        file.unlink()
        return True
    if how == "of another seed":
        if kind.twin is None or not (kind.twin / name).exists():
            return False
        file.write_bytes((kind.twin / name).read_bytes())
    elif how == FORGED:
        return forged(file, draw)
    elif how == "of another step":
        file.write_bytes((run / kind.some(draw)).read_bytes())
    else:
        file.write_bytes(damaged(before, how, draw))
    return file.read_bytes() != before


ODD: tuple[Any, ...] = (None, [], {}, "x", -1, True, 1e308, 10**30, [["a"]], {"a": 1})
"""What a forger writes in the place of a value."""


def forged(file: Path, draw: random.Random) -> bool:
    """Change one thing in a file and seal it again; whether that changed it."""
    before = file.read_bytes()
    if file.suffix == ".json":
        values = json.loads(before)
        values.pop("digest", None)
        made_by = str(values.pop("hash", ""))
        write_record(file, _changed(values, draw), made_by=made_by)
    elif file.suffix == ".parquet":
        _forge_table(file, draw)
    elif file.suffix == ".safetensors":
        _forge_tensors(file, draw)
    else:
        file.write_bytes(draw.choice((b"", b"\x00", b"\xff\xfe", before + b"\n", b"def")))
    return file.read_bytes() != before


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of JSON are, of long lists only the first two."""
    if place:
        yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, one in inner:
        yield from _places(one, (*place, key))


def _changed(values: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """JSON with one value of another kind, or without it."""
    values = json.loads(json.dumps(values))
    *path, last = draw.choice(list(_places(values)))
    holder: Any = values
    for key in path:
        holder = holder[key]
    if draw.random() < 0.2:
        del holder[last]
    else:
        holder[last] = draw.choice(ODD)
    return values


def _forge_table(file: Path, draw: random.Random) -> None:
    made_by, table = pl.read_parquet_metadata(file).get("config", ""), read_table(file, made_by=None)
    name = draw.choice(table.columns)
    if draw.random() < 0.2:
        table = table.drop(name)
    else:
        odd = draw.choice([value for value in ODD if value != 10**30 and value not in ([], {})])
        table = table.with_columns(pl.Series(name, [odd] * len(table), strict=False))
    write_table(file, table, made_by=made_by)


def _forge_tensors(file: Path, draw: random.Random) -> None:
    about = read_facts(file)
    made_by = about.pop("config", "")
    about.pop("digest", None)
    tensors, _ = read_tensors(file, made_by=None)
    if about and draw.random() < 0.5:
        about = _changed(about, draw)
    else:
        name = draw.choice(sorted(tensors))
        tensor = tensors.pop(name)
        new = draw.choice((None, tensor.reshape(-1)[:-1], tensor.unsqueeze(0), tensor.bool(), torch.tensor(0.5)))
        tensors |= {} if new is None else {name: new.clone()}
    write_tensors(file, tensors, made_by=made_by, **about)


def outcome(use: Use, run: Path, expected: str) -> str:
    """What becomes of a damaged run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _text(use(run))
    except QuantascopeError as error:
        return "refused" if "\n" not in str(error) else "TRACEBACK"
    except BaseException:
        traceback.print_exc()
        return "TRACEBACK"
    return "harmless" if found == expected else "WRONG"


def trials(
    kinds: list[Kind], count: int, seed: int = 0, *, forgeries: bool = False
) -> Iterator[tuple[str, str, str]]:
    """Kind, damage and outcome of each of so many damages, or forgeries."""
    draw = random.Random(seed)
    place = Path(tempfile.mkdtemp())
    expected: dict[str, str] = {}
    done = 0
    while done < count:
        kind, how = kinds[done % len(kinds)], FORGED if forgeries else draw.choice(HOW)
        copy = place / kind.run.name
        shutil.copytree(kind.run, copy)
        if kind.name not in expected:
            expected[kind.name] = _text(kind.use(copy))
            shutil.rmtree(copy)
            shutil.copytree(kind.run, copy)
        if accident(kind, copy, how, draw):
            found = outcome(kind.use, copy, expected[kind.name])
            yield kind.name, how, "believed" if forgeries and found == "WRONG" else found
            done += 1
        shutil.rmtree(copy)


def _text(values: Any) -> str:
    return json.dumps(values, sort_keys=True, default=repr)


def _hash(*arrays: Any) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in arrays)).hexdigest()


def source_kinds(run: Path, twin: Path | None = None) -> list[Kind]:
    """What is in a trained source with factors and a Q-model."""

    def traced(path: Path) -> Any:
        fitted = read_fit(open_source(path), "faithful")
        return trace(fitted, "346", fitted.descriptions).to_json()

    def discovered(path: Path) -> Any:
        found = discover(open_source(path), threshold=0.02)
        return found.table().to_dicts(), found.improvement_correlation

    def parts(path: Path) -> Any:
        source = open_source(path)
        options = {"train": source.examples(), "parts": path / "parts"}
        field = priority_field(source.trajectory, source.losses, source.layers, **options)
        return _hash(field.values, field.other, field.losses)

    parts(run)
    describe(run)
    return [
        Kind("config", run, "config.json", traced, twin),
        Kind("checkpoint", run, "checkpoints/*.safetensors", discovered, twin),
        Kind("metrics", run, "metrics.parquet", traced, twin),
        Kind("field", run, "priority/*.safetensors", discovered, twin),
        Kind("part", run, "parts/*.safetensors", parts, twin),
        Kind("factors", run, "factors.safetensors", traced, twin),
        Kind("config of a Q-model", run, "qmodel/faithful/config.json", traced, twin),
        Kind("recovered Q-model", run, "qmodel/faithful/qmodel.safetensors", traced, twin),
        Kind("descriptions", run, "qmodel/faithful/semantics.parquet", traced, twin, optional=True),
    ]


def describe(run: Path) -> None:
    """Describe each quantum of a Q-model, as `explain` keeps it."""
    fitted = read_fit(open_source(run), "faithful")
    names = fitted.model.names
    table = pl.DataFrame({"unit": names, "description": [f"what {name} does in {run.name}" for name in names]})
    write_table(fitted.path / SEMANTICS, table, made_by=fitted.config.hash())


def forest_kinds(folder: Path) -> list[Kind]:
    """What is in a run of sparse parities, whole and interrupted."""
    for seed in (0, 1):
        learn(_forest(seed), folder / f"forest-{seed}")
        with contextlib.suppress(KeyboardInterrupt):
            learn(_forest(seed), folder / f"killed-{seed}", _stop, Pace(save=0.0, report=0.0))

    def learned(path: Path) -> Any:
        curves = learn(_forest(0), path)
        return curves.summary(), _hash(curves.coefficient, curves.task_loss)

    whole, killed = ([folder / f"{name}-{seed}" for seed in (0, 1)] for name in ("forest", "killed"))
    return [
        Kind("metrics of a forest", whole[0], "metrics.parquet", learned, whole[1]),
        Kind("config of a forest", whole[0], "config.json", learned, whole[1]),
        Kind("state", killed[0], "state.safetensors", learned, killed[1]),
    ]


def _forest(seed: int) -> HSPLearner:
    family, training = FlatFamily(tasks=6), TrainingConfig(steps=8, evaluate_every=2)
    return HSPLearner(
        family=family, model=MLPConfig(width=8), training=training, batch_size=16, panel_inputs=16, model_seed=seed
    )


def _stop(step: int, loss: float, acquired: int | None = None) -> None:
    if step >= 4:
        raise KeyboardInterrupt


def series_kinds(folder: Path) -> list[Kind]:
    """Checkpoints of somebody's own loop, and a published result."""
    for seed in (0, 1):
        torch.manual_seed(seed)
        model = nn.Linear(3, 3)
        recorder = Recorder(model, folder / f"series-{seed}", steps=1)
        for _ in range(3):
            with torch.no_grad():
                model.weight += torch.randn(3, 3)
            recorder.step(0.1)
        estimate = Estimate.over_runs("slope", [1.0 + seed, 2.0, 3.0])
        result = Result.of("claim", "full", _forest(seed), {"slope": estimate}, {"commit": "unknown"})
        result.save(folder / f"results-{seed}" / "claim-full.json")

    def loaded(path: Path) -> Any:
        series = Trajectory.open(path)
        return (
            series.steps.tolist(),
            series.learning_rate_mass.tolist(),
            [series.digest(i) for i in range(len(series))],
        )

    def read(path: Path) -> Any:
        return {
            f"{name} {preset}": result.to_json()
            for name, presets in read_results(path).items()
            for preset, result in presets.items()
        }

    return [
        Kind("checkpoint of a loop", folder / "series-0", "checkpoints/*.safetensors", loaded, optional=True),
        Kind("result", folder / "results-0", "*.json", read, optional=True),
    ]


def program_kinds(folder: Path) -> list[Kind]:
    """What is in runs of a compiled Q-model and of a network that it guides."""
    learners = [_guided(seed) for seed in (0, 1)]
    for seed, learner in enumerate(learners):
        teacher = learn_compiled(learner.teacher, folder / f"compiled-{seed}")
        learn_guided(learner, folder / f"guided-{seed}", teacher)

    def compiled(path: Path) -> Any:
        run = learn_compiled(learners[0].teacher, path)
        known = run.knowledge and run.knowledge.model_dump(mode="json")
        return run.accuracy, known, _hash(*(one.detach() for one in run.model.parameters()))

    def guided(path: Path) -> Any:
        run = learn_guided(learners[0], path, learn_compiled(learners[0].teacher, folder / "compiled-0"))
        return run.accuracy, _hash(*(one.detach() for one in run.model.parameters()))

    teachers, students = ([folder / f"{name}-{seed}" for seed in (0, 1)] for name in ("compiled", "guided"))
    written = own_program_kinds(folder)
    return [
        *written,
        Kind("what a Q-model knows", teachers[0], "knowledge.json", compiled, teachers[1], optional=True),
        Kind("compiled Q-model", teachers[0], "qmodel.safetensors", compiled, teachers[1]),
        Kind("accuracy", teachers[0], "accuracy.json", compiled, teachers[1]),
        Kind("guided model", students[0], "model.safetensors", guided, students[1]),
        Kind("accuracy of a guided model", students[0], "accuracy.json", guided, students[1]),
    ]


def own_program_kinds(folder: Path) -> list[Kind]:
    """The text that a run keeps of a program in a user's file, and the record of its digest."""
    file = folder / "mine.py"
    file.write_text("answer = 42\n")
    run = RunDirectory.open(folder / "of-a-file", _forest(0))
    keep_file(run, f"{file}:answer", "program.py")

    def named(path: Path) -> Any:
        return check_named(path / "program.py", f"{file}:answer", str(file), option="--program")

    return [
        Kind("text of a program", run.path, "program.py", named),
        Kind("digest of that text", run.path, "program.json", named, optional=True),
    ]


def data_kinds(folder: Path) -> list[Kind]:
    """The record of the packaged data that a run was trained on."""
    file = folder / "words.txt"
    file.write_text("one two\n")
    data = PackagedData("words", "1.0", "0" * 16, file)
    task = TextTask(vocabulary=("a",), positions=2, end="a", encode=lambda text: [0], panels={}, data=lambda: data)
    for seed in (0, 1):
        keep_data(RunDirectory.open(folder / f"with-data-{seed}", _forest(seed)), task)

    def checked(path: Path) -> Any:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", OtherData)
            check_data(path, task)
        return len([one for one in told if one.category is OtherData])

    run, twin = (folder / f"with-data-{seed}" for seed in (0, 1))
    return [Kind("record of data", run, "data.json", checked, twin, optional=True)]


def _guided(seed: int) -> GuidedLearner:
    short = {"training.steps": 2, "training.schedule.decay": "none", "seed": seed}
    teacher = CompiledLearner(program="roman").replace({**short, "model.width": 8})
    learner = GuidedLearner(teacher=teacher, model=TransformerConfig(blocks=9, width=8, hidden=8))
    return learner.replace(short)


def make_source(folder: Path, seed: int) -> Path:
    """A trained source with factors and a Q-model."""
    config = SourceConfig(
        model=TransformerConfig(blocks=2, width=8, hidden=16),
        steps=12,
        optimizer=OptimizerConfig(name="sgd", learning_rate=0.1),
        intervals=4,
        replays=2,
        seed=seed,
    )
    source = train_source(config, folder / f"source-{seed}")
    discover(source, threshold=0.02).save()
    fit_run(source, fit_config(source, "faithful", {"updates": 4, "parts": 4}))
    return source.folder


def main() -> int:
    """Print outcomes by kind and by damage; 1 if any was wrong or a traceback."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--forgeries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    folder = Path(tempfile.mkdtemp())
    source, twin = (make_source(folder, seed) for seed in (0, 1))
    source_kinds(twin)
    kinds = [
        *source_kinds(source, twin),
        *forest_kinds(folder),
        *series_kinds(folder),
        *program_kinds(folder),
        *data_kinds(folder),
    ]
    by_kind: dict[str, Counter[str]] = {kind.name: Counter() for kind in kinds}
    by_damage: dict[str, Counter[str]] = {how: Counter() for how in HOW}
    for name, how, what in trials(kinds, asked.trials, asked.seed):
        by_kind[name][what] += 1
        by_damage[how][what] += 1
        if what.isupper():
            print(f"{what}: {name}, {how}", file=sys.stderr)
    forgeries: dict[str, Counter[str]] = {kind.name: Counter() for kind in kinds}
    for name, _, what in trials(kinds, asked.forgeries, asked.seed, forgeries=True):
        forgeries[name][what] += 1
        if what.isupper():
            print(f"{what}: {name}, forged", file=sys.stderr)
    shutil.rmtree(folder)
    columns = ("refused", "harmless", "WRONG", "TRACEBACK")
    print(f"{'':28}" + "".join(f"{column:>11}" for column in columns))
    for row, counts in [*by_kind.items(), *by_damage.items(), ("all", sum(by_kind.values(), Counter()))]:
        print(f"{row:28}" + "".join(f"{counts[column]:11d}" for column in columns))
    columns = ("refused", "harmless", "believed", "TRACEBACK")
    print(f"\n{'forged and sealed again':28}" + "".join(f"{column:>11}" for column in columns))
    for row, counts in [*forgeries.items(), ("all", sum(forgeries.values(), Counter()))]:
        print(f"{row:28}" + "".join(f"{counts[column]:11d}" for column in columns))
    if asked.json:
        about = {"trials": asked.trials, "seed": asked.seed, "kinds": by_kind, "damages": by_damage}
        about |= {"forgeries": forgeries}
        asked.json.write_text(json.dumps(about, indent=2) + "\n")
    every = [*by_kind.values(), *forgeries.values()]
    return int(any(counts["WRONG"] + counts["TRACEBACK"] for counts in every))


if __name__ == "__main__":
    sys.exit(main())
