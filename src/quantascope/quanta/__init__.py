"""What every pipeline speaks of: Q-graphs, gate labels, properties of events. Works without torch."""
