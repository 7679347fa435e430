"""Files that are whole or absent, run folders, strict configs, engines and sweeps."""
