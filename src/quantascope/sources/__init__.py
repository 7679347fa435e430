"""`Source`: everything that discovery needs to know about a trained network."""

# Lets a worker process import functions of a user's file.
import quantascope.program.source  # noqa: F401
