"""The claims by name; the file of a claim is imported when the claim is asked for."""

import importlib
from collections.abc import Iterator, Mapping

from quantascope.claims import NAMES
from quantascope.claims.claim import Claim
from quantascope.runs.errors import InvalidConfig


def module_of(claim: str) -> str:
    """The name of the module that defines a claim."""
    return claim.replace("-", "_")


class _Claims(Mapping[str, Claim]):
    def __getitem__(self, name: str) -> Claim:
        if name not in NAMES:
            raise InvalidConfig(f"unknown claim '{name}'; known claims are {', '.join(NAMES)}")
        return importlib.import_module(f"quantascope.claims.{module_of(name)}").CLAIM

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


CLAIMS: Mapping[str, Claim] = _Claims()
"""Every claim by its name."""
