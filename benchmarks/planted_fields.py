"""How the factorizations degrade with noise, on planted fields with known supports and curves.

Six factors over 1,000 events and 60 intervals; curves are bells at even distances in time. Noise is the standard
deviation of every entry over the root mean square of the field without it. The figure and the JSON beside it are
those of docs/findings/planted-fields.md.
"""

import argparse
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from quantascope.claims.result import Estimate
from quantascope.discovery import Factors, factorize, factorize_corrective
from quantascope.discovery.planted import PlantedConfig, plant
from quantascope.discovery.score import best_match_f1
from quantascope.report.figures.style import BLUE, GREY, VERMILLION, house_style, panels, title
from quantascope.runs.artefact import write_json
from quantascope.runs.provenance import made_with

NOISE = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
FIELDS = {
    "disjoint supports": PlantedConfig(overlap=False),
    "overlapping supports": PlantedConfig(overlap=True),
    "overlapping in time as well": PlantedConfig(overlap=True, width=4.0),
}
METHODS: dict[str, Callable[[np.ndarray], Factors]] = {
    "paper, 3 %": lambda values: factorize(values, threshold=0.03),
    "paper, 1 %": lambda values: factorize(values, threshold=0.01),
    "corrective": factorize_corrective,
}
COLOURS = {"paper, 3 %": GREY, "paper, 1 %": VERMILLION, "corrective": BLUE}
MARKERS = {"paper, 3 %": "s", "paper, 1 %": "o", "corrective": "D"}

Curves = dict[str, dict[str, list[Estimate]]]


def measure(seeds: list[int]) -> Curves:
    """Best-match F1 of every method at every level of noise, over seeds."""
    scores: Curves = {}
    for name, config in FIELDS.items():
        scores[name] = {method: [] for method in METHODS}
        for noise in NOISE:
            fields = [plant(config.replace({"noise": noise, "seed": seed})) for seed in seeds]
            for method, find in METHODS.items():
                found = [best_match_f1(find(field.values).supports, field.supports) for field in fields]
                scores[name][method].append(Estimate.over_runs("best-match F1", found))
    return scores


def draw(scores: Curves, file: Path) -> None:
    """One panel per kind of field: F1 against noise, with t intervals over seeds."""
    with house_style():
        figure, axes = panels(len(scores), width=2.9, height=2.9)
        for letter, (name, methods), panel in zip("abc", scores.items(), axes, strict=True):
            for method, figures in methods.items():
                mean = [one.mean or 0.0 for one in figures]
                reach = [(one.high or middle) - middle for one, middle in zip(figures, mean, strict=True)]
                panel.errorbar(
                    NOISE, mean, reach, color=COLOURS[method], marker=MARKERS[method], markersize=4, label=method
                )
            panel.set(xlabel="noise / r.m.s. of the field", ylim=(0, 1.05))
            title(panel, letter, name)
        axes[0].set_ylabel("best-match F1 of the supports")
        axes[0].legend(loc="lower left")
        for suffix in ("svg", "png"):
            metadata = {"Date": None} if suffix == "svg" else None
            figure.savefig(file.with_suffix(f".{suffix}"), metadata=metadata)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--json", type=Path, help="where to write the outcome; a figure is drawn beside it")
    chosen = parser.parse_args()
    scores = measure(chosen.seeds)
    for name, methods in scores.items():
        print(f"\n{name}\n\nnoise       " + "".join(f"{noise:7g}" for noise in NOISE))
        for method, figures in methods.items():
            print(f"{method:12s}" + "".join(f"{one.mean:7.3f}" for one in figures))
    if chosen.json:
        draw(scores, chosen.json)
        found = {
            name: {method: [asdict(one) for one in figures] for method, figures in methods.items()}
            for name, methods in scores.items()
        }
        outcome = {"seeds": chosen.seeds, "noise": list(NOISE), "made_with": made_with(), "f1": found}
        write_json(chosen.json, outcome)


if __name__ == "__main__":
    main()
