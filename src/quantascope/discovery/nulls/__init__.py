"""Comparisons for the factors: other factorizations, surrogate fields and random packets."""
