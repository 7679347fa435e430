"""Seconds of the binary-temporal factorization, ours against the straightforward one, in one run; and growth.

The straightforward one follows the paper's rules one start after the other: a full SVD for the singular vector,
the mean of a copy of the supported rows for each curve, the whole reconstruction for each error. Both must find
the same factors. Growth is measured over a decade of events, up to 100,000 events × 200 intervals × 10 factors.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quantascope.discovery import factorize
from quantascope.discovery.factorize import ALTERNATIONS, best_scale
from quantascope.discovery.planted import PlantedConfig, plant
from quantascope.runs.artefact import write_json

FACTORS, THRESHOLD = 10, 1e-4


def straightforward(field: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Supports and curves of one layer, as one would first write it."""
    residual, found = field.copy(), []
    original = (residual**2).sum()
    for number in range(FACTORS):
        candidates = [one for curve in starts(residual, number) if (one := alternate(residual, curve)) is not None]
        errors = [((residual - np.outer(support, curve)) ** 2).sum() for support, curve in candidates]
        if not errors or (residual**2).sum() - min(errors) < THRESHOLD * original:
            break
        support, curve = candidates[int(np.argmin(errors))]
        residual = residual - np.outer(support, curve)
        found.append((support, curve))
    return found


def starts(residual: np.ndarray, number: int) -> list[np.ndarray]:
    vector = np.linalg.svd(residual, full_matrices=False)[2][0]
    vector = vector * np.sign(vector[np.abs(vector).argmax()])
    random = np.random.default_rng([0, 0, number]).random(residual.shape[1])
    scaled = [best_scale(residual, np.maximum(0, one)[None])[0] for one in (vector, -vector, random)]
    return [np.maximum(0, residual.mean(0)), *scaled]


def alternate(residual: np.ndarray, curve: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    support = np.zeros(len(residual), dtype=bool)
    for _ in range(ALTERNATIONS):
        entered = 2 * residual @ curve > curve @ curve
        if not entered.any():
            return None
        updated = np.maximum(0, residual[entered].mean(0))
        if (entered == support).all() and (updated == curve).all():
            break
        support, curve = entered, updated
    return 2 * residual @ curve > curve @ curve, curve


@dataclass(frozen=True)
class Comparison:
    """Median seconds of both, their ratio, and whether they found the same supports."""

    events: int
    intervals: int
    straightforward_seconds: float
    our_seconds: float
    ratio: float
    same_supports: bool


@dataclass(frozen=True)
class Growth:
    """Seconds of ours at one size."""

    events: int
    intervals: int
    factors: int
    seconds: float


def field_of(events: int, intervals: int) -> np.ndarray:
    return plant(PlantedConfig(events=events, intervals=intervals, factors=FACTORS, width=4.0, noise=1.0)).values


def compare(events: int, intervals: int, rounds: int) -> Comparison:
    values = field_of(events, intervals)
    theirs, plain = timed(lambda: straightforward(values[0]), rounds)
    ours, factors = timed(lambda: factorize(values, threshold=THRESHOLD, most=FACTORS), rounds)
    same = len(factors) == len(plain) and all(
        (a == b).all() for a, (b, _) in zip(factors.supports, plain, strict=True)
    )
    return Comparison(events, intervals, round(theirs, 3), round(ours, 3), round(theirs / ours, 2), same)


def grow(events: int, intervals: int) -> Growth:
    values = field_of(events, intervals)
    seconds, factors = timed(lambda: factorize(values, threshold=THRESHOLD, most=FACTORS), 1)
    return Growth(events, intervals, len(factors), round(seconds, 2))


def timed(run: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    taken, outcome = [], None
    for _ in range(rounds):
        began = time.perf_counter()
        outcome = run()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken), outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    chosen = parser.parse_args()
    compared = [compare(events, 200, chosen.rounds) for events in (2_000, 10_000)]
    grown = [grow(events, 200) for events in (10_000, 30_000, 100_000)]
    if chosen.json:
        found = {"compared": [asdict(one) for one in compared], "grown": [asdict(one) for one in grown]}
        write_json(chosen.json, found)
    print("events  intervals  straightforward      ours   ratio  same supports")
    for one in compared:
        print(
            f"{one.events:6,} {one.intervals:10} {one.straightforward_seconds:15.2f} s {one.our_seconds:7.2f} s"
            f" {one.ratio:6.1f}  {one.same_supports}"
        )
    print("\n events  intervals  factors   seconds")
    for one in grown:
        print(f"{one.events:7,} {one.intervals:10} {one.factors:8} {one.seconds:9.2f}")


if __name__ == "__main__":
    main()
