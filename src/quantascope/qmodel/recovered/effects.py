"""The effects of every intervention on one Q-model."""

from dataclasses import dataclass
from functools import lru_cache

from quantascope.qmodel.recovered.fit import RecoveredRun
from quantascope.qmodel.recovered.interventions import (
    Effect,
    ablate_quantum,
    ablate_writer,
    delete_all,
    delete_one,
    effects,
    force_gate,
    replace_all,
)


@dataclass(frozen=True, eq=False)
class InterventionEffects:
    """Effects of every intervention on one Q-model; lists are over channels, quanta and writers."""

    deleted: Effect
    replaced: Effect
    one_deleted: list[Effect]
    quantum: list[Effect]
    forced: list[Effect]
    writer: list[Effect]


@lru_cache(maxsize=64)
def intervention_effects(run: RecoveredRun, panel: str) -> InterventionEffects:
    """Make every intervention on a Q-model, on a panel."""
    model, events = run.model, run.source.events(panel)
    quanta, writers = range(len(model.layers)), range(model.config.writers)
    deleted, replaced = effects(model, events, [delete_all(model), replace_all(model, events)])
    return InterventionEffects(
        deleted=deleted,
        replaced=replaced,
        one_deleted=effects(model, events, [delete_one(model, e.parent, e.child) for e in model.channels.edges]),
        quantum=effects(model, events, [ablate_quantum(q) for q in quanta]),
        forced=effects(model, events, [force_gate(q) for q in quanta]),
        writer=effects(model, events, [ablate_writer(model, q, w) for q in quanta for w in writers]),
    )
