"""The executable Q-model of a trained network: model, fit, fidelity, trace and interventions."""
