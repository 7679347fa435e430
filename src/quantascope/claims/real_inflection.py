"""Inflection: a Transformer learns the forms of real English words, with their exceptions, letter by letter."""

from collections.abc import Mapping

from quantascope.claims.real_source import RealClaim, real_claim
from quantascope.claims.real_study import Number, Study
from quantascope.models import predict
from quantascope.programs.inflection import task
from quantascope.qmodel.recovered.fit import FIT_PRESETS
from quantascope.sources.source import Source
from quantascope.sources.trained import SourceConfig

PANELS = {"test": "test words", "test_regular": "regular test words", "test_exceptions": "exceptions"}


def quality(source: Source) -> Mapping[str, Number]:
    """Accuracy on words that were not trained on."""
    numbers: dict[str, Number] = {}
    for panel, says in PANELS.items():
        seen = predict(source.model(), source.events(panel))
        numbers[f"{panel}_exact"] = Number(f"words right, {says}", 100 * seen.exact_accuracy, "%")
        numbers[f"{panel}_token"] = Number(f"letters right, {says}", 100 * seen.token_accuracy, "%")
    return numbers


SOURCE = SourceConfig.parse(
    {"task": "inflection", **task.settings, "steps": 2000, "measured_on": "training_300", "replays": 40}
)
"""As `quantascope train inflection` trains it, in half as many steps; settings are declared, not tuned."""
STUDY = Study(
    fit=FIT_PRESETS["faithful"].replace({"updates": 2000, "parts": 5}),
    contexts=(("token",), ("token", "position"), ("token", "position", "previous")),
    rule="regular word",
    exception="departs from the rule",
    held_out="development_150",
    test="test_150",
    spacings=(10, 40),
)
CLAIM = real_claim(
    name="real-inflection",
    says="quanta of a network that learns English inflection from real words",
    full=RealClaim(source=SOURCE, seeds=tuple(range(8)), study=STUDY),
    quick={
        "trained_on": "training_300", "measured_on": "training_100", "steps": 200, "intervals": 4, "replays": 4,
        "model.blocks": 2, "model.width": 16, "model.hidden": 32, "schedule.warmup": 10, "schedule.decay_from": 10,
    },
    quality=quality,
)  # fmt: skip
