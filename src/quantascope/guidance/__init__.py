"""A frozen Q-model as a removable target for an ordinary network."""
