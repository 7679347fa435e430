"""Can the corrective factors tell binary supports from continuous loadings? Planted fields of both kinds.

All have the same curves, and the noise that leaves about 70 % of the squared priority to be explained, as in the
number-naming sources under the path rule. What counts is how much more is explained by as many factors than in a
surrogate with continuous loadings, less what that surrogate is explained more than a surrogate of its own.
"""

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import Float

from quantascope.claims.result import Estimate
from quantascope.discovery.nulls.discreteness import discreteness
from quantascope.discovery.planted import Planted, PlantedConfig, plant
from quantascope.runs.artefact import write_json
from quantascope.runs.provenance import made_with

CONFIG = PlantedConfig(events=1600, intervals=40, width=4.0)
NOISE = 0.65
SEEDS = range(5)

Loadings = Callable[[Planted, np.random.Generator], Float[np.ndarray, "events factors"]]
KINDS: dict[str, Loadings] = {
    "binary": lambda planted, _: planted.supports.T.astype(np.float64),
    "binary, uneven": lambda planted, rng: planted.supports.T * rng.gamma(10, 0.1, planted.supports.T.shape),
    "continuous": lambda planted, rng: rng.gamma(0.5, size=planted.supports.T.shape),
    "continuous, events uneven": lambda planted, rng: (
        rng.gamma(2, 0.5, planted.supports.T.shape) * rng.gamma(1, size=(planted.supports.shape[1], 1))
    ),
}


def compare(kind: str, seed: int) -> list[float]:
    """More factors, more explained, and more explained than by as many, of one field, beyond the control."""
    planted, rng = plant(CONFIG.model_copy(update={"seed": seed})), np.random.default_rng([seed, 1])
    clean = KINDS[kind](planted, rng) @ planted.curves
    noise = NOISE * np.sqrt(np.mean(clean**2)) * rng.normal(size=clean.shape)
    return discreteness((clean + noise)[None]).excess.tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    found: dict[str, dict[str, Estimate]] = {}
    with ProcessPoolExecutor(chosen.processes) as engine:
        for kind in KINDS:
            factors, _, explained = np.array(list(engine.map(partial(compare, kind), SEEDS))).T
            found[kind] = {
                "factors": Estimate.over_runs("factors beyond surrogate and control", factors, "factors"),
                "explained": Estimate.over_runs("explained by as many factors", 100 * explained, "%"),
            }
            shown = (f"{one.says} {one.mean:.1f} [{one.low:.1f}, {one.high:.1f}]" for one in found[kind].values())
            print(f"{kind:28s}", "   ".join(shown), flush=True)
    if chosen.json:
        figures = {kind: {name: asdict(one) for name, one in own.items()} for kind, own in found.items()}
        write_json(chosen.json, {"figures": figures, "made_with": made_with()})


if __name__ == "__main__":
    main()
