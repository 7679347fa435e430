"""Joins two results of one claim with equal settings and different seeds.

A claim can be joined if it has a `summary`: its measured figures then have one value per seed, and derived
figures are computed again. Parts must have different seeds of sources, but may share seeds of fits.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quantascope.claims.claim import Claim, summarized
from quantascope.claims.result import Estimate, Result
from quantascope.runs.errors import InvalidConfig


def holds_seeds(key: str) -> bool:
    """Whether a setting of a claim is a list of seeds.

    >>> holds_seeds("further_seeds"), holds_seeds("steps")
    (True, False)
    """
    return key == "seeds" or key.endswith("_seeds")


def is_part(config: Mapping[str, Any], preset: Mapping[str, Any]) -> bool:
    """Whether a config is that of a preset for some of its seeds.

    >>> is_part({"seeds": [1], "steps": 5}, {"seeds": [0, 1], "steps": 5})
    True
    >>> is_part({"seeds": [1], "steps": 6}, {"seeds": [0, 1], "steps": 5})
    False
    """
    return config.keys() == preset.keys() and all(
        _is_part_of(key, value, preset[key]) for key, value in config.items()
    )


def _is_part_of(key: str, value: Any, whole: Any) -> bool:
    if holds_seeds(key):
        return set(value) <= set(whole)
    if isinstance(value, Mapping) and isinstance(whole, Mapping):
        return is_part(value, whole)
    return value == whole


def with_more_seeds(claim: Claim, first: Result, second: Result) -> Result:
    """The joined result, with the first one's seeds first."""
    if claim.summary is None:
        raise InvalidConfig(f"{claim.name} cannot be published in parts; reproduce all seeds of its preset")
    if first.figures.keys() != second.figures.keys():
        raise InvalidConfig(f"the published {claim.name} has other figures; add --replace to replace it")
    config = {key: _joined(key, value, second.config[key]) for key, value in first.config.items()}
    follows = claim.summary(first.figures).keys()
    figures = {
        key: _pooled(figure, second.figures[key]) for key, figure in first.figures.items() if key not in follows
    }
    trained = {commit for one in (first, second) for commit in one.made_with["trained_at"].split(", ")}
    return replace(
        second,
        config=config,
        figures=summarized(claim, figures),
        made_with={**second.made_with, "trained_at": ", ".join(sorted(trained))},
    )


def _joined(key: str, first: Any, second: Any) -> Any:
    if isinstance(first, Mapping):
        return {inner: _joined(inner, value, second[inner]) for inner, value in first.items()}
    if not holds_seeds(key):
        return first
    if key.endswith("fit_seeds"):
        return [*first, *(seed for seed in second if seed not in first)]
    both = sorted(set(first) & set(second))
    if both:
        raise InvalidConfig(f"the published result has {key} {both} already; leave them out with --set {key}=[…]")
    return [*first, *second]


def _pooled(first: Estimate, second: Estimate) -> Estimate:
    undefined = [float("nan")] * (first.undefined + second.undefined)
    return Estimate.over_runs(first.says, [*first.values, *second.values, *undefined], first.unit)
