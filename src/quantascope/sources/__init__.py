"""`Source`: everything that discovery needs to know of a trained network."""

# A worker process that is sent a function of a user's file can then import it.
import quantascope.program.source  # noqa: F401
