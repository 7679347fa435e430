"""What guidance costs: time of a training step of the ten-block Transformer, guided and with cross-entropy alone.

Both take the full batch of the 300 training numbers; targets are computed beforehand, as in every guided run.
Rounds of both alternate on one thread, and the median round counts, in CPU time. The evaluation of all 16,384
balanced numbers is timed as well.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from quantascope.guidance.alignment import Guidance
from quantascope.guidance.guide import guided_objective
from quantascope.guidance.learner import GuidedLearner
from quantascope.guidance.lesson import Lesson
from quantascope.models import Transformer, TransformerConfig, predict
from quantascope.runs.artefact import write_json
from quantascope.runs.provenance import made_with
from quantascope.tasks.number_naming import PANELS, POSITIONS, VOCABULARY, naming_events
from quantascope.training import Objective, train

ASKED_OVERHEAD = 0.15
LEVELS, Q_WIDTH = 10, 32


@dataclass(frozen=True)
class Measurement:
    """Milliseconds of a step, the share that guidance adds, and seconds of an evaluation."""

    plain_step_ms: float
    guided_step_ms: float
    overhead: float
    asked_overhead: float
    evaluation_s: float


def measure(rounds: int, steps: int) -> Measurement:
    config = GuidedLearner()
    events = naming_events(PANELS["training"]())
    target = torch.randn(events.count, LEVELS, Q_WIDTH, generator=torch.Generator().manual_seed(0))
    shape = TransformerConfig(blocks=LEVELS)
    guidance = Guidance.of(target, blocks=shape.blocks, width=shape.width)

    def model() -> Transformer:
        return Transformer(vocabulary=len(VOCABULARY), positions=POSITIONS, config=shape, seed=0)

    def taking_steps(objective: Objective) -> Callable[[], None]:
        learner, short = model(), config.training.replace({"steps": steps, "evaluate_every": steps})
        return lambda: train(learner, batches=lambda step: batch, objective=objective, config=short) and None

    batch = Lesson.of(events, guidance)
    plain, guided = (taking_steps(guided_objective(config.replace({"weight": w}))) for w in (0.0, 1.0))
    taken: dict[str, list[float]] = {"plain": [], "guided": []}
    for _ in range(rounds + 1):
        taken["plain"].append(timed(plain))
        taken["guided"].append(timed(guided))
    step = {name: 1000 * statistics.median(seconds[1:]) / steps for name, seconds in taken.items()}
    asked, learner = naming_events(PANELS["balanced"]()), model()
    return Measurement(
        plain_step_ms=round(step["plain"], 2),
        guided_step_ms=round(step["guided"], 2),
        overhead=round(step["guided"] / step["plain"] - 1, 3),
        asked_overhead=ASKED_OVERHEAD,
        evaluation_s=round(timed(lambda: predict(learner, asked) and None), 2),
    )


def timed(run: Callable[[], None]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    found = measure(chosen.rounds, chosen.steps)
    if chosen.json:
        write_json(chosen.json, {"measured": asdict(found), "made_with": made_with()})
    print(f"cross-entropy alone  {found.plain_step_ms:7.2f} ms a step")
    print(f"guided               {found.guided_step_ms:7.2f} ms a step")
    print(f"overhead             {found.overhead:7.1%}  (asked: below {found.asked_overhead:.0%})")
    print(f"evaluation of 16,384 {found.evaluation_s:7.2f} s")


if __name__ == "__main__":
    main()
