"""The passes of the compiler, one per file; `compile.py` puts them in order."""
