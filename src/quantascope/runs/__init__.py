"""Atomic files, run folders, strict configs, engines and sweeps."""
