"""`GuidedLearner`: settings of guided training, and how a command changes them."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import model_validator

from quantascope.guidance.network import OwnNetwork
from quantascope.models import TransformerConfig
from quantascope.qmodel.compiled.fit import ADAM, PAPER_QMODEL, RELEASED_QMODEL, CompiledLearner, CompiledRun
from quantascope.runs.config import Config, Count, NonNegativeFloat, Positive, PositiveFloat, Seed
from quantascope.runs.errors import RunMismatch
from quantascope.training import ScheduleConfig, TrainingConfig

Control = Literal["none", "depth", "examples", "word"]


class GuidedLearner(Config):
    """Cross-entropy plus `weight` times alignment with a teacher; weight 0 is cross-entropy alone.

    A control shuffles the target over depth, over examples, or over examples that share the output word. `prompts`
    names a panel used without answers: at every step the network is aligned on some of them, along the teacher's
    greedy output, without cross-entropy.
    """

    KIND: ClassVar[str] = "guided network"
    LATER: ClassVar[tuple[str, ...]] = ("trained_on", "batch", "only_right", "drawn_after", "best_on")

    teacher: CompiledLearner = CompiledLearner()
    model: TransformerConfig | OwnNetwork = TransformerConfig(blocks=10)
    training: TrainingConfig = TrainingConfig(
        steps=1000, optimizer=ADAM, schedule=ScheduleConfig(decay="linear"), evaluate_every=1000
    )
    weight: NonNegativeFloat = 1.0
    routing: Literal["predicted", "oracle"] = "predicted"
    control: Control = "none"
    level_to_block: tuple[Count, ...] | None = None
    window: Positive = 1
    target_norm: PositiveFloat | None = 5.0
    """Norm to which the target of every level is scaled. Default: the teacher's norm."""
    stream_noise: NonNegativeFloat = 0.3
    """Standard deviation of the noise on the stream after every block during training."""
    prompts: str | None = None
    trained_on: str | None = None
    """The panel that the network learns. Default: the teacher's."""
    batch: Positive | None = None
    """Examples per update; None for all."""
    only_right: bool = False
    """Guide only on training inputs that the program answers as the task does."""
    drawn_after: Literal["nothing", "teacher"] = "nothing"
    """What is drawn from the seed before the network: nothing, or as in the paper's released code a Q-model of the
    teacher's shape."""
    best_on: str | None = None
    """Keep the checkpoint that is best on this panel, which makes its accuracy there optimistic. Default: last."""
    seed: Seed = 0

    @property
    def panel(self) -> str:
        """The panel that the network learns."""
        return self.trained_on or self.teacher.trained_on

    @model_validator(mode="after")
    def _refuse_ignored(self) -> "GuidedLearner":
        if self.prompts and (self.control != "none" or self.routing == "oracle"):
            raise ValueError(f"prompts '{self.prompts}' require predicted routing and no control")
        if not self.weight and (self.prompts or self.only_right or self.control != "none"):
            raise ValueError(
                "weight 0 disables guidance, so prompts, only_right and control have no effect; leave them out"
            )
        if self.prompts and (self.batch or self.only_right):
            raise ValueError(
                f"prompts '{self.prompts}' require all examples at once; leave out batch and only_right"
            )
        if self.stream_noise and isinstance(self.model, OwnNetwork):
            raise ValueError(
                f"stream_noise {self.stream_noise:g} has no effect on a network of your own; set stream_noise=0, "
                "and give the network its own dropout"
            )
        if self.drawn_after != "nothing" and isinstance(self.model, OwnNetwork):
            raise ValueError(
                f"drawn_after={self.drawn_after} has no effect on a network of your own; leave it out"
            )
        return self


PLAIN = GuidedLearner(teacher=PAPER_QMODEL, target_norm=None, stream_noise=0.0)
"""The paper's settings."""
RELEASED = PLAIN.replace(
    {
        "teacher": RELEASED_QMODEL.model_dump(mode="json"),
        "model.initialization": "paper",
        "drawn_after": "teacher",
        "training.schedule.zero_update": True,
        "training.evaluate_every": 10,
        "routing": "oracle",
        "best_on": "balanced",
    }
)
"""The paper's settings as its released code has them, with its draws and its choice on the evaluation set."""


def guided_learner(
    settings: Mapping[str, Any],
    changes: Mapping[str, Any],
    *,
    teacher: CompiledRun | None = None,
    program: str | None = None,
    model: str | None = None,
    seed: int | None = None,
) -> GuidedLearner:
    """The learner with the given settings and a user's changes.

    A trained teacher keeps its own settings; a new teacher uses the given program and seed. `changes` are applied
    last.
    """
    learner = GuidedLearner.parse({**settings, **({} if model is None else _own(model))})
    chosen: dict[str, Any] = {"seed": learner.seed if seed is None else seed}
    taught = teacher.config if teacher else learner.teacher.replace(chosen | _given(program=program))
    learner = learner.replace({**chosen, "teacher": taught.model_dump(mode="json"), **changes})
    if teacher and learner.teacher != teacher.config:
        raise RunMismatch("the teacher was trained with other settings; leave out settings of the teacher")
    return learner


def _own(model: str) -> dict[str, Any]:
    return {"model": OwnNetwork.named(model).model_dump(mode="json"), "stream_noise": 0.0}


def _given(**values: str | None) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
