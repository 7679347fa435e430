"""Errors that a user can cause and mend.

Every message names the offending value and the remedy; the command line prints it as one line and exits
with code 2. Anything else that is raised is a defect of quantascope.
"""


class QuantascopeError(Exception):
    """Base of all errors with a remedy on the user's side."""


class InvalidConfig(QuantascopeError):
    """A setting that is unknown, of the wrong type, or impossible."""


class RunMismatch(QuantascopeError):
    """A run directory or artefact that another configuration made."""


class DamagedArtefact(QuantascopeError):
    """A file that is truncated, foreign, or not what its name says."""


class StorageFailed(QuantascopeError):
    """A file that could not be written: full or read-only disk, missing permission."""


class Diverged(QuantascopeError):
    """A training run whose loss is no longer a finite, sensible number."""


class EngineFailed(QuantascopeError):
    """Work that could not be done because its worker or engine went away."""
