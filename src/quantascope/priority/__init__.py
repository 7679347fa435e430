"""Where priority went during training, and the quanta that it is made of."""

from quantascope.priority.complexity import effective_groups, hidden_unit_groups, packet_complexity
from quantascope.priority.corrective import assign_jointly, factorize_corrective
from quantascope.priority.cost import FieldCost, field_cost
from quantascope.priority.factorize import assign, check_threshold, explained_share, factorize, negative_mass
from quantascope.priority.factors import Factors
from quantascope.priority.field import PriorityField, Rule, priority_field
from quantascope.priority.fingerprints import factorize_fingerprints
from quantascope.priority.linearized import Derivatives
from quantascope.priority.losses import ModuleLosses
from quantascope.priority.ordering import (
    Ordering,
    improvement,
    improvement_correlation,
    mean_acquisition,
    ordering,
)
from quantascope.priority.stability import Match, Recurrence, chance_matches, chance_within, match, recurrence

__all__ = [
    "Derivatives",
    "Factors",
    "FieldCost",
    "Match",
    "ModuleLosses",
    "Ordering",
    "PriorityField",
    "Recurrence",
    "Rule",
    "assign",
    "assign_jointly",
    "chance_matches",
    "chance_within",
    "check_threshold",
    "effective_groups",
    "explained_share",
    "factorize",
    "factorize_corrective",
    "factorize_fingerprints",
    "field_cost",
    "hidden_unit_groups",
    "improvement",
    "improvement_correlation",
    "match",
    "mean_acquisition",
    "negative_mass",
    "ordering",
    "packet_complexity",
    "priority_field",
    "recurrence",
]
