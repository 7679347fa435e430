"""How close a Q-model can come to its source, and at what cost: one setting varied at a time.

All fits are to one development source and are judged on the development panel, so that a preset may be chosen
here. All have the same small number of updates: compare them with each other, not with full fits.
"""

from collections.abc import Mapping

from pydantic import Field

from quantascope.claims.recover_quanta import QUICK
from quantascope.claims.recovered_models import FittedSource, QModelFits, recovered_claim
from quantascope.claims.result import Estimate
from quantascope.qmodel.recovered.config import FIT_PRESETS, RecoveredFit
from quantascope.qmodel.recovered.fidelity import fidelity, gate_fidelity, parameter_share
from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.runs.config import Config
from quantascope.sources.trained import SourceConfig

PANEL = "development"
Setting = int | float | bool | str

VARIATIONS: dict[str, dict[str, Setting]] = {
    "base": {},
    "threshold_5": {"threshold": 0.05},
    "threshold_2": {"threshold": 0.02},
    "writers_3": {"model.writers": 3},
    "writers_8": {"model.writers": 8},
    "target_5": {"loss.writer_target": 5.0},
    "target_12": {"loss.writer_target": 12.0},
    "rank_4": {"model.rank": 4},
    "value_8": {"model.value": 8},
    "value_32": {"model.value": 32},
    "pool_none": {"pool.inputs": 0},
    "pool_own": {"pool.continued_by": "own"},
    "final_only": {"late": 8.0},
    "detached": {"model.gate_gradients": False},
    "gates_0": {"loss.gates": 0.0},
    "predictions_0.7": {"loss.predictions": 0.7},
    "channels_0": {"loss.channels": 0.0},
}


class QModelFrontier(Config):
    """A base, and what is changed of it in each variation."""

    source: SourceConfig = SourceConfig(seed=100)
    base: RecoveredFit = FIT_PRESETS["distilled"].replace({"updates": 800, "parts": 8, "pool.inputs": 300})
    variations: dict[str, dict[str, Setting]] = Field(default_factory=lambda: dict(VARIATIONS))

    @property
    def job(self) -> QModelFits:
        """All fits, in the order of the variations."""
        known = {"source": self.source.hash()}
        return QModelFits(
            source=self.source,
            fits=tuple(self.base.replace({**known, **changes}) for changes in self.variations.values()),
        )


def by_variation(config: QModelFrontier, evidence: Mapping[str, FittedSource]) -> dict[str, RecoveredRun]:
    """The Q-model of each variation."""
    (fitted,) = evidence.values()
    return dict(zip(config.variations, fitted.runs, strict=True))


def measure(config: QModelFrontier, evidence: Mapping[str, FittedSource]) -> dict[str, Estimate]:
    """Agreement, active writers, parameters and fidelity of gates, for each variation."""
    figures: dict[str, Estimate] = {}
    for name, run in by_variation(config, evidence).items():
        seen = fidelity(run, PANEL)
        for key, says, value, unit in (
            ("agreement", "agreement", 100 * seen.agreement, "%"),
            ("agreement_right", "agreement where the source is right", 100 * seen.agreement_where_right, "%"),
            ("active_writers", "active writers per event", seen.active_writers, "writers"),
            ("parameter_share", "parameters over those of the source", 100 * parameter_share(run), "%"),
            ("gate_f1", "F1 of gates with held-out supports", gate_fidelity(run, PANEL), ""),
        ):
            figures[f"{key}_{name}"] = Estimate.over_runs(f"{says}, {name.replace('_', ' ')}", [value], unit)
    return figures


CLAIM = recovered_claim(
    name="qmodel-frontier",
    says="what more writers, parameters and inputs buy",
    presets={
        "quick": QModelFrontier(
            source=QUICK.model_copy(update={"seed": 100}),
            base=FIT_PRESETS["distilled"].model_copy(update={"updates": 40}),
            variations={"base": {}, "writers_3": {"model.writers": 3}},
        ),
        "full": QModelFrontier(),
        "paper": QModelFrontier(base=FIT_PRESETS["distilled"]),
    },
    jobs=lambda config: {"frontier": config.job},
    measure=measure,
)
