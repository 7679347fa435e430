"""How loud must the messages of the teacher of guidance-real-data be? Chosen on development seeds.

    python benchmarks/inflection_teachers.py

Every form of the Q-model of the spelling rules is trained from seeds 100 to 102, which no claim uses, and measured
on the panel `development`, which no claim reports: does it write what the program writes? The rule, fixed before
the comparison: the form with the highest accuracy averaged over seeds is the teacher of the claim. Runs are kept
in runs/inflection-teachers and resumed.

The program itself is not compared: its quantum INDEX, the letter that is written, was added by hand after Q-models
without it lost count on development words.
"""

import argparse
from pathlib import Path

from qmodel_forms import compare, report
from quantascope.claims.guidance_real_data import LEARNER

NO_NOISE = LEARNER.teacher.replace({"message_noise": 0.0, "gate_weight": 5.0, "semantic_weight": 5.0})
FORMS = {
    "no noise": NO_NOISE,
    "noise 0.3, rising over a quarter": NO_NOISE.replace({"message_noise": 0.3, "noise_warmup": 0.25}),
    "noise 1, rising over a quarter": NO_NOISE.replace({"message_noise": 1.0, "noise_warmup": 0.25}),
    "no noise, the paper's weights": NO_NOISE.replace({"gate_weight": 2.0, "semantic_weight": 1.0}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, help="processes; as many as the cores hold if not given")
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    asked = parser.parse_args()
    jobs = {("inflection", form): config for form, config in FORMS.items()}
    report(compare(jobs, Path("runs/inflection-teachers"), asked.workers), asked.json)


if __name__ == "__main__":
    main()
