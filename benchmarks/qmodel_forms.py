"""Which form of training makes compiled Q-models reliable? Forms compared on development seeds and panels.

    python benchmarks/qmodel_forms.py                                 clock times, where full noise at once fails
    python benchmarks/qmodel_forms.py --programs english roman clock  others beside it

Each form is trained on 100 and 200 examples from seeds 100 to 102, which no claim uses, and asked for the panel
`development`. Runs are kept in runs/qmodel-forms and taken up again.
"""

import argparse
import json
from pathlib import Path

import torch

from quantascope.models import predict
from quantascope.qmodel.compiled.fit import PAPER_QMODEL, CompiledLearner, learn_compiled

FORMS = {
    "the paper's": PAPER_QMODEL,
    "full noise at once": CompiledLearner(noise_warmup=0.0),
    "noise rises over a quarter of the steps": CompiledLearner(),
}
SEEDS = (100, 101, 102)
EXAMPLES = (100, 200)


def accuracy(form: str, program: str, examples: int, seed: int, folder: Path) -> dict[str, float]:
    """Exact accuracy on training and development inputs, in per cent."""
    change = {"program": program, "trained_on": f"training_{examples}", "seed": seed}
    config = FORMS[form].replace(change)
    run = learn_compiled(config, folder / config.hash())
    task = run.taught.task
    panels = {"training": config.trained_on, "development": "development"}
    return {
        name: 100 * predict(run.model, task.events(task.panel(panel))).exact_accuracy
        for name, panel in panels.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", default=["clock"])
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/qmodel-forms.json"))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for program in asked.programs:
        for examples in EXAMPLES:
            for form in FORMS:
                found = [accuracy(form, program, examples, seed, Path("runs/qmodel-forms")) for seed in SEEDS]
                row = {"program": program, "examples": examples, "form": form, "seeds": list(SEEDS)}
                rows.append(row | {name: [one[name] for one in found] for name in found[0]})
                shown = " / ".join(f"{value:.1f}" for value in rows[-1]["development"])
                lowest = min(rows[-1]["training"])
                print(f"{program:10}{examples:5}  {form:42}{shown:24} training at least {lowest:.1f}", flush=True)
                asked.out.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
