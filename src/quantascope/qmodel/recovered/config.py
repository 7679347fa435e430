"""Settings of a Q-model fit: the faithful preset, which is the paper's, the distilled and the trusted preset.

The faithful preset uses only the training inputs, and only the supports teach the gates. The distilled preset also
fits unlabelled inputs, continued by the source itself, and lets predictions teach the gates. The trusted preset
also computes as a block does, fits interventions, and chooses channels by their necessity.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from quantascope.discovery import Rule
from quantascope.discovery.factorize import Starts
from quantascope.qmodel.recovered.intervened import InterventionTerm
from quantascope.qmodel.recovered.loss import RecoveryLoss
from quantascope.qmodel.recovered.model import RecoveredConfig
from quantascope.qmodel.recovered.necessity import Necessity
from quantascope.runs.config import Config, Count, NonNegativeFloat, Positive, PositiveFloat, Seed, Share
from quantascope.training import OptimizerConfig, ScheduleConfig, TrainingConfig

FitPreset = Literal["faithful", "distilled", "trusted"]


class Pool(Config):
    """Inputs of the task's pool, outside every panel: the total number, and the number at each checkpoint.

    Each is continued greedily by the finished source (`final`), or by the checkpoint itself (`own`), or by words
    drawn from the finished source (`sampled`), so that no labels are needed.
    """

    numbers: Positive = 6000
    inputs: Count = 0
    continued_by: Literal["own", "final", "sampled"] = "final"


class RecoveredFit(Config):
    """Settings of a Q-model fit; the defaults are the faithful preset.

    An update uses one checkpoint and one of `parts` equal parts of its inputs; the paper uses all inputs.
    Checkpoint i is drawn with probability proportional to i^late.
    """

    KIND: ClassVar[str] = "recovered Q-model"
    LATER: ClassVar[tuple[str, ...]] = ("starts", "closure", "functional_channels", "interventions", "necessity")

    preset: FitPreset = "faithful"
    source: str = ""
    """The identity of the source that is fitted."""
    rule: Rule = "path"
    threshold: PositiveFloat = 0.03
    model: RecoveredConfig = RecoveredConfig()
    loss: RecoveryLoss = RecoveryLoss()
    pool: Pool = Pool()
    parts: Positive = 1
    late: Annotated[float, Field(ge=0, le=20)] = 0.0
    updates: Positive = 5000
    learning_rate: PositiveFloat = 3e-3
    schedule: ScheduleConfig = ScheduleConfig()
    clip: PositiveFloat = 5.0
    frozen_share: NonNegativeFloat = 0.2
    seed: Seed = 0
    starts: Starts = "scaled"
    """Starting curves of the factorization."""
    closure: Share | None = None
    """If given, factors are closed under parents that miss at most this share of their events."""
    functional_channels: bool = False
    """Whether the gate and writer-count losses are detached from the channels, as in the paper's code."""
    interventions: InterventionTerm | None = None
    """If given, a share of the updates fits what the source does under interventions."""
    necessity: Necessity | None = None
    """If given, channels are closed by their measured effect and are not trained: set frozen_share=1."""

    @model_validator(mode="after")
    def _necessity_alone_closes_channels(self) -> "RecoveredFit":
        if self.necessity is None:
            return self
        if self.frozen_share < 1 or self.model.channel_start <= 0:
            raise ValueError("necessity needs channels that start open and are not trained: frozen_share=1")
        if round(self.necessity.after * self.updates) >= self.updates:
            raise ValueError(f"necessity.after={self.necessity.after:g} is after the last update; use less than 1")
        return self

    @property
    def training(self) -> TrainingConfig:
        """These settings as a config of the training loop."""
        return TrainingConfig(
            steps=self.updates,
            optimizer=OptimizerConfig(name="adam", learning_rate=self.learning_rate),
            schedule=self.schedule,
            evaluate_every=self.updates,
        )


FIT_PRESETS: dict[FitPreset, RecoveredFit] = {
    "faithful": RecoveredFit(),
    "distilled": RecoveredFit(
        preset="distilled",
        model=RecoveredConfig(writers=5, value=20, gate_gradients=True),
        loss=RecoveryLoss(predictions=5.0, gates=2.0, writers=3.0, writer_target=7.5, channels=0.001),
        pool=Pool(inputs=1000),
        parts=20,
        late=1.0,
        updates=6000,
        learning_rate=1e-2,
        schedule=ScheduleConfig(decay="cosine"),
    ),
    "trusted": RecoveredFit(
        preset="trusted",
        model=RecoveredConfig(form="block", writers=5, gate_gradients=True),
        loss=RecoveryLoss(
            predictions=5.0,
            gates=2.0,
            gate_entropy=0.0,
            writers=3.0,
            writer_target=7.5,
            channels=0.0,
            channel_entropy=0.0,
        ),
        pool=Pool(inputs=1000, continued_by="sampled"),
        parts=20,
        updates=9000,
        learning_rate=1e-2,
        schedule=ScheduleConfig(decay="cosine"),
        frozen_share=1.0,
        interventions=InterventionTerm(),
        necessity=Necessity(),
    ),
}
