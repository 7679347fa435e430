"""What stands beside the factors: other factorizations, surrogate fields and random packets."""
