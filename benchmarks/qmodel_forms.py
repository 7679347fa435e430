"""Which form of training makes compiled Q-models generalize, and from every seed? Chosen on development seeds.

    python benchmarks/qmodel_forms.py                                the five programs, 100 examples each
    python benchmarks/qmodel_forms.py --programs clock --examples 200

Every form is trained from seeds 100 to 102, which no claim uses, and asked for the panel `development`, which no
claim reports. The rule, fixed before the comparison: the form with the highest accuracy averaged over programs and
seeds is the default of `CompiledLearner`. Runs are kept in runs/qmodel-forms and resumed.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from quantascope.models import predict
from quantascope.qmodel.compiled.fit import PAPER_QMODEL, CompiledLearner, learn_compiled
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
FOLDER = Path("runs/qmodel-forms")


def accuracy(form: str, program: str, examples: int, seed: int) -> dict[str, float]:
    """Exact accuracy on training and development inputs, in per cent."""
    config = FORMS[form].replace({"program": program, "trained_on": f"training_{examples}", "seed": seed})
    run = learn_compiled(config, FOLDER / config.hash())
    task = run.taught.task
    panels = {"training": config.trained_on, "development": "development"}
    return {
        name: 100 * predict(run.model, task.events(task.panel(panel))).exact_accuracy
        for name, panel in panels.items()
    }


def compare(programs: list[str], examples: int) -> list[dict[str, Any]]:
    """A row for every program and form; one process per core."""
    with local_engine() as engine:
        work = {
            (program, form): [engine.submit(accuracy, form, program, examples, seed) for seed in SEEDS]
            for program in programs
            for form in FORMS
        }
        rows = []
        for (program, form), seeds in work.items():
            found = [one.result() for one in seeds]
            row = {"program": program, "examples": examples, "form": form, "seeds": list(SEEDS)}
            rows.append(row | {name: [one[name] for one in found] for name in found[0]})
            shown = " / ".join(f"{value:.1f}" for value in rows[-1]["development"])
            print(f"{program:10}{form:46}{shown}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--examples", type=int, choices=(100, 200, 300), default=100)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/qmodel-forms.json"))
    asked = parser.parse_args()
    rows = compare(asked.programs, asked.examples)
    asked.out.write_text(json.dumps(rows, indent=2) + "\n")
    for form in FORMS:
        values = [value for row in rows if row["form"] == form for value in row["development"]]
        print(f"{form:46} mean {statistics.mean(values):.1f}, lowest {min(values):.1f}")


if __name__ == "__main__":
    main()
