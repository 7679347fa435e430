"""Types shared by every pipeline: Q-graphs, gate labels, properties of events. Works without torch."""
