"""Which form of training makes compiled Q-models generalize, and from every seed? Chosen on development seeds.

    python benchmarks/qmodel_forms.py                                the five programs, 100 examples each
    python benchmarks/qmodel_forms.py --programs clock --examples 200

Every form is trained from seeds 100 to 102, which no claim uses, and asked for the panel `development`, which no
claim reports. The rule, fixed before the comparison: the form with the highest accuracy averaged over programs and
seeds is the default of `CompiledLearner`. Runs are kept in runs/qmodel-forms and resumed.
"""

import argparse
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quantascope.models import predict
from quantascope.qmodel.compiled.fit import PAPER_QMODEL, CompiledLearner, learn_compiled
from quantascope.runs.artefact import write_json
from quantascope.runs.engine import local_engine

NO_WARMUP = CompiledLearner(noise_warmup=0.0)
FORMS = {
    "the paper's": PAPER_QMODEL,
    "noise 1 at once": NO_WARMUP,
    "noise 1, rising over a quarter": NO_WARMUP.replace({"noise_warmup": 0.25}),
    "noise 1, rising over a half": NO_WARMUP.replace({"noise_warmup": 0.5}),
    "noise 1, rising to the end": NO_WARMUP.replace({"noise_warmup": 1.0}),
    "noise 0.3, rising over a quarter": NO_WARMUP.replace({"noise_warmup": 0.25, "message_noise": 0.3}),
    "noise 1, rising over a quarter, rate 0.003": NO_WARMUP.replace(
        {"noise_warmup": 0.25, "training.optimizer.learning_rate": 0.003}
    ),
}
PROGRAMS = ("english", "french", "addition", "roman", "clock")
SEEDS = (100, 101, 102)


def accuracy(config: CompiledLearner, folder: Path) -> dict[str, float]:
    """Exact accuracy on training and development inputs, in per cent."""
    run = learn_compiled(config, folder / config.hash())
    task = run.taught.task
    panels = {"training": config.trained_on, "development": "development"}
    return {
        name: 100 * predict(run.model, task.events(task.panel(panel))).exact_accuracy
        for name, panel in panels.items()
    }


def compare(
    jobs: Mapping[tuple[str, str], CompiledLearner], folder: Path, workers: int | None = None
) -> dict[str, Any]:
    """By form and program: the accuracies over the development seeds, and by form their mean on new inputs."""
    forms: dict[str, dict[str, Any]] = {}
    with local_engine(workers=workers) as engine:
        work = {
            key: [engine.submit(accuracy, config.replace({"seed": seed}), folder) for seed in SEEDS]
            for key, config in jobs.items()
        }
        for (program, form), seeds in work.items():
            found = [one.result() for one in seeds]
            forms.setdefault(form, {})[program] = {name: [one[name] for one in found] for name in found[0]}
            shown = " / ".join(f"{value:.1f}" for value in forms[form][program]["development"])
            print(f"{program:12}{form:46}{shown}", flush=True)
    for form in forms.values():
        form["mean"] = statistics.fmean(value for one in form.values() for value in one["development"])
    sizes = {config.trained_on.rpartition("_")[2] for config in jobs.values()}
    return {"seeds": list(SEEDS), "examples": int(*sizes), "forms": forms}


def report(found: dict[str, Any], path: Path | None) -> None:
    """Write the outcome if a file is given, and print the mean accuracy of each form."""
    if path:
        write_json(path, found)
    for form, programs in found["forms"].items():
        print(f"{form:46} mean {programs['mean']:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--examples", type=int, choices=(100, 200, 300), default=100)
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    asked = parser.parse_args()
    jobs = {
        (program, form): config.replace({"program": program, "trained_on": f"training_{asked.examples}"})
        for program in asked.programs
        for form, config in FORMS.items()
    }
    report(compare(jobs, Path("runs/qmodel-forms")), asked.json)


if __name__ == "__main__":
    main()
