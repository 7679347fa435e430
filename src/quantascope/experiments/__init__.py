"""The claims of the paper, one file each, by the name that the command line knows."""

from quantascope.experiments import (
    acquisition_clock,
    acquisition_order,
    child_parent_order,
    compiled_qmodel,
    composed_staircase,
    data_scaling,
    finite_size,
    flat_acquisition,
    guidance_data,
    guidance_programs,
    guided_training,
    hsp_demand,
    joint_frontier,
    message_interventions,
    number_naming_data,
    parameter_scaling,
    qmodel_frontier,
    recover_quanta,
    recovered_qmodel,
    seed_stability,
    semantics,
    source_faithfulness,
)
from quantascope.experiments.claim import Claim, Cost, Reproduction, reproduce
from quantascope.experiments.result import Estimate, Result

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        flat_acquisition.CLAIM,
        composed_staircase.CLAIM,
        child_parent_order.CLAIM,
        acquisition_clock.CLAIM,
        hsp_demand.CLAIM,
        parameter_scaling.CLAIM,
        data_scaling.CLAIM,
        joint_frontier.CLAIM,
        finite_size.CLAIM,
        number_naming_data.CLAIM,
        recover_quanta.CLAIM,
        acquisition_order.CLAIM,
        seed_stability.CLAIM,
        recovered_qmodel.CLAIM,
        message_interventions.CLAIM,
        source_faithfulness.CLAIM,
        qmodel_frontier.CLAIM,
        semantics.CLAIM,
        compiled_qmodel.CLAIM,
        guided_training.CLAIM,
        guidance_data.CLAIM,
        guidance_programs.CLAIM,
    )
}

__all__ = ["CLAIMS", "Claim", "Cost", "Estimate", "Reproduction", "Result", "reproduce"]
