"""Python source code: a byte-level GPT-NeoX of a million parameters learns the standard library."""

from collections.abc import Mapping

from quantascope.claims.real_source import RealClaim, real_claim
from quantascope.claims.real_study import Number, Study
from quantascope.qmodel.recovered.fit import FIT_PRESETS
from quantascope.sources.code import CodeConfig, code_summary
from quantascope.sources.source import Source


def quality(source: Source) -> Mapping[str, Number]:
    """How well the bytes of modules are predicted that were not trained on."""
    summary = code_summary(source)
    return {
        "bits_per_byte": Number("bits per byte, other modules", summary["bits_per_byte"], "bits"),
        "byte_accuracy": Number("bytes right, other modules", 100 * summary["byte_accuracy"], "%"),
    }


SOURCE = CodeConfig()
"""As `quantascope train code` trains it; settings are declared, not tuned."""
STUDY = Study(
    fit=FIT_PRESETS["faithful"].replace({"updates": 1500, "parts": 2}),
    contexts=(("token",), ("token", "previous"), ("token", "previous", "second previous")),
    rule="given by syntax",
    exception="a new name or free text",
    held_out="development_10",
    test="test_10",
    spacings=(10, 40),
    every=2,
)
"""Windows begin anywhere, so events are alike by the bytes before them and not by their position."""
CLAIM = real_claim(
    name="real-code",
    says="quanta of a network that learns to read Python",
    full=RealClaim(source=SOURCE, seeds=(0, 1, 2), study=STUDY),
    quick={
        "steps": 20, "intervals": 4, "blocks": 2, "width": 16, "heads": 2, "hidden": 32, "batch": 8, "warmup": 2,
    },
    quality=quality,
)  # fmt: skip
