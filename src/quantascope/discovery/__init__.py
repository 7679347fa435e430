"""Measures the priority field of a training run and factors it into quanta."""

from quantascope.discovery.complexity import effective_groups, packet_complexity
from quantascope.discovery.corrective import factorize_corrective
from quantascope.discovery.cost import FieldCost, field_cost
from quantascope.discovery.factorize import assign, check_threshold, explained_share, factorize, negative_mass
from quantascope.discovery.factors import Factors
from quantascope.discovery.field import PriorityField
from quantascope.discovery.fingerprints import factorize_fingerprints
from quantascope.discovery.interval import Rule
from quantascope.discovery.linearized import Derivatives
from quantascope.discovery.ordering import (
    Ordering,
    improvement,
    improvement_correlation,
    mean_acquisition,
    ordering,
)
from quantascope.discovery.priority import priority_field
from quantascope.discovery.recurrence import Match, Recurrence, chance_matches, chance_within, match, recurrence

__all__ = [
    "Derivatives",
    "Factors",
    "FieldCost",
    "Match",
    "Ordering",
    "PriorityField",
    "Recurrence",
    "Rule",
    "assign",
    "chance_matches",
    "chance_within",
    "check_threshold",
    "effective_groups",
    "explained_share",
    "factorize",
    "factorize_corrective",
    "factorize_fingerprints",
    "field_cost",
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
