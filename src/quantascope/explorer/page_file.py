"""The built page, and its content security policy: only its own script and style."""

import base64
import hashlib
import re
from importlib.resources import files

from quantascope.runs.errors import DamagedArtefact

_SCRIPT = re.compile(r"<script\b(?![^>]*\bid=\"embedded\")[^>]*>(.*?)</script>", re.DOTALL)
_STYLE = re.compile(r"<style\b[^>]*>(.*?)</style>", re.DOTALL)


def read_page() -> str:
    """The page as one file."""
    try:
        return files("quantascope.explorer").joinpath("static", "index.html").read_text(encoding="utf-8")
    except OSError as error:
        raise DamagedArtefact("the explorer's page is missing; install quantascope again") from error


def security_policy(page: str, *, connect: str) -> str:
    """The content security policy: run the page's own script and style, and connect to `connect`.

    >>> security_policy("<style>a</style><script>b</script>", connect="'none'")[:49]
    "default-src 'none'; script-src 'sha256-PiPoFgA5WU"
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(_SCRIPT, page)}",
            f"style-src {_hashes(_STYLE, page)}",
            "img-src data:",
            f"connect-src {connect}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )


def _hashes(pattern: re.Pattern[str], page: str) -> str:
    found = [hashlib.sha256(text.encode()).digest() for text in pattern.findall(page)]
    return " ".join(f"'sha256-{base64.b64encode(one).decode()}'" for one in found) or "'none'"
