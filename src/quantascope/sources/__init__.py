"""`Source`: everything that discovery needs to know of a trained network."""
