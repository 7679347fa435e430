"""A causal test of event sets: does teaching one half of a set also teach the other half?"""

from quantascope.discovery.transfer.kernel import estimated_effects
from quantascope.discovery.transfer.matching import event_contexts, match_by_context, match_by_curve
from quantascope.discovery.transfer.proposals import METHODS, Proposer
from quantascope.discovery.transfer.response import Response, Subject, diagonality, response_matrix
from quantascope.discovery.transfer.transfer import Transfer, Trial, plan, run_trials
from quantascope.discovery.transfer.weighting import Change, Halves, changed_weights, halves, predicted_shift

__all__ = [
    "METHODS",
    "Change",
    "Halves",
    "Proposer",
    "Response",
    "Subject",
    "Transfer",
    "Trial",
    "changed_weights",
    "diagonality",
    "estimated_effects",
    "event_contexts",
    "halves",
    "match_by_context",
    "match_by_curve",
    "plan",
    "predicted_shift",
    "response_matrix",
    "run_trials",
]
