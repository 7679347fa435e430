"""Known units: tasks of a forest, found in the training of a network; `benchmarks/known_quanta.py` in short.

A network of 128 units learns eight parities of a flat forest; each event is one task's. Fingerprints of the path
field tell the tasks apart (AMI 0.83 and 0.76 at the first two seeds), loss curves do not (0.16 and 0.20). The size
matters: with six tasks over eight sensors, learned sooner, fingerprints reach 0.17 to 0.23 only.
"""

from pathlib import Path

import pytest

from quantascope.program.source import load_module
from quantascope.tasks.hsp import FlatFamily

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.filterwarnings("ignore:credit misses the tolerance:UserWarning")
def test_fingerprints_find_the_tasks_of_a_flat_forest_and_loss_curves_do_not(tmp_path):
    known = load_module(BENCHMARKS / "known_quanta.py")
    source = known.Source(
        lambda seed: FlatFamily(tasks=8, pool=16, distractors=0, support_seed=seed, rank_seed=seed),
        steps=2_000,
        learning_rate=0.3,
        intervals=80,
        inputs=16,
    )
    seen = known.measure(source, seed=0, folder=tmp_path)
    assert seen.final_loss < 0.05
    assert seen.fields["path"].completeness == pytest.approx(1, abs=0.02)
    found, curves = (known.score(seen, method) for method in ("fingerprints, path rule", "k-means of loss curves"))
    assert found["ami"] > 0.6
    assert found["f1"] > 0.6
    assert curves["ami"] < 0.4
