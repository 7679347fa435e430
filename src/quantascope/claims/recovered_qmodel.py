"""An executable Q-model follows its source with a third of the parameters (section 5.2; appendix G.1, G.2).

Two Q-models of each source: the faithful one by the paper's preset, whose figures stand beside the paper's, and
the distilled one, fitted also on inputs without labels. The held-out panel is disjoint from the training numbers;
the paper's own, of which a sixth was trained on, stands beside it.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial

from quantascope.claims.claim import no_summary
from quantascope.claims.recovered_models import (
    EIGHT_SOURCES,
    PAPER_MODELS,
    QUICK_MODELS,
    FittedSource,
    RecoveredModels,
    over_fits,
    over_sources,
    presets_of,
    recovered_claim,
)
from quantascope.claims.result import Estimate
from quantascope.qmodel.recovered.config import FitPreset
from quantascope.qmodel.recovered.fidelity import (
    Fidelity,
    after_first_burst,
    fidelity,
    gate_fidelity,
    parameter_share,
    through_time,
)
from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.runs.config import Config


class RecoveredQModelClaim(Config):
    """The Q-models that are measured."""

    models: RecoveredModels = EIGHT_SOURCES


@lru_cache(maxsize=64)
def seen(run: RecoveredRun, panel: str) -> Fidelity:
    """The fidelity of a Q-model on a panel, measured once."""
    return fidelity(run, panel)


def time_after_burst(run: RecoveredRun, column: str = "agreement") -> list[float]:
    """A share at every replayed step after the first acquisition burst, in percent."""
    factors = run.replay.factors
    table = after_first_burst(through_time(run), run.source.steps, factors.cumulative)
    return [100 * share for share in table[column]]


def measure(config: RecoveredQModelClaim, evidence: Mapping[str, FittedSource]) -> dict[str, Estimate]:
    """Shape, fidelity on three panels, gates, and fidelity through time, of both presets."""
    figures: dict[str, Estimate] = {}
    for preset, prefix in presets_of(evidence):
        add = partial(_add, figures, evidence, preset, prefix)
        add("parameters", "parameters of the Q-model", lambda run: run.model.parameter_count, "parameters")
        add("parameter_share", "parameters over those of the source", lambda run: 100 * parameter_share(run), "%")
        add("writers", "available writers", lambda run: run.model.writers, "writers")
        add("channels", "selected channels", lambda run: len(run.model.channels.edges), "channels")
        for panel, suffix in (("priority", ""), ("contaminated", "_contaminated"), ("test", "_test_panel")):
            for key, (says, value, unit) in _ON_PANEL.items():
                add(key + suffix, f"{says}, {panel} panel", lambda run, p=panel, v=value: v(seen(run, p)), unit)
        add("gate_f1", "F1 of gates with held-out supports", gate_fidelity)
        for column, suffix, says in _THROUGH_TIME:
            values = partial(time_after_burst, column=column)
            add(f"time_lowest{suffix}", f"lowest {says}", lambda run, v=values: min(v(run)), "%")
            add(f"time_mean{suffix}", f"mean {says}", lambda run, v=values: _mean(v(run)), "%")
        for key, says, value, unit in (
            ("agreement", "agreement, test panel", lambda run: 100 * seen(run, "test").agreement, "%"),
            ("channels", "selected channels", lambda run: float(len(run.model.channels.edges)), "channels"),
        ):
            figures[f"{prefix}{key}_fit_seeds"] = over_fits(evidence, preset, says, value, unit)
    some = [fitted.of("faithful")[0] for fitted in evidence.values()]
    figures["source_parameters"] = Estimate.over_runs(
        "parameters of the source",
        [run.model.parameter_count / parameter_share(run) for run in some],
        "parameters",
    )
    return figures


def _add(
    figures: dict[str, Estimate],
    evidence: Mapping[str, FittedSource],
    preset: FitPreset,
    prefix: str,
    key: str,
    says: str,
    value: Callable[[RecoveredRun], float],
    unit: str = "",
) -> None:
    figures[prefix + key] = over_sources(evidence, preset, says, value, unit)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


_ON_PANEL: dict[str, tuple[str, Callable[[Fidelity], float], str]] = {
    "agreement": ("agreement of source and Q-model", lambda found: 100 * found.agreement, "%"),
    "agreement_right": ("agreement where the source is right", lambda f: 100 * f.agreement_where_right, "%"),
    "agreement_wrong": ("agreement where the source is wrong", lambda f: 100 * f.agreement_where_wrong, "%"),
    "token_accuracy": ("token accuracy of the Q-model", lambda found: 100 * found.qmodel.token_accuracy, "%"),
    "exact": ("greedy exact of the Q-model", lambda found: 100 * found.qmodel.exact_accuracy, "%"),
    "source_token_accuracy": (
        "token accuracy of the source",
        lambda found: 100 * found.source.token_accuracy,
        "%",
    ),
    "source_exact": ("greedy exact of the source", lambda found: 100 * found.source.exact_accuracy, "%"),
    "active_quanta": ("active quanta per event", lambda found: found.active_quanta, "quanta"),
    "active_writers": ("active writers per event", lambda found: found.active_writers, "writers"),
}

_THROUGH_TIME = (
    ("agreement", "", "agreement after the first burst"),
    ("decided", "_decided", "agreement after the first burst where the source is decided"),
    ("overlap", "_overlap", "overlap of predictions after the first burst"),
)

CLAIM = recovered_claim(
    name="recovered-qmodel",
    says="an executable Q-model follows its source with a third of the parameters",
    presets={
        "quick": RecoveredQModelClaim(models=QUICK_MODELS),
        "full": RecoveredQModelClaim(),
        "paper": RecoveredQModelClaim(models=PAPER_MODELS),
    },
    measure=measure,
    summary=no_summary,
    keeps_figure=True,
)
