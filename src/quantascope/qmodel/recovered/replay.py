"""Checkpoint replay: the source's outputs at each checkpoint on the inputs, computed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from quantascope.discovery import Factors
from quantascope.models import decode
from quantascope.models.device import free_bytes
from quantascope.models.predictions import Predictor, sampler
from quantascope.models.residual import Interface
from quantascope.qmodel.recovered.config import Pool, RecoveredFit
from quantascope.qmodel.recovered.loss import ReplayedCheckpoint
from quantascope.qmodel.recovered.model import RecoveredQModel
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.runs.memory import FLOAT, check_memory
from quantascope.sources.source import Source
from quantascope.tasks.events import Events
from quantascope.training.footprint import check_training, count_parameters

_BYTES_OF_A_PROMPT = 300
"""Largest length of a short list of tokens."""


@dataclass(frozen=True, eq=False)
class CheckpointReplay:
    """A source and its factors, ready to be replayed."""

    source: Source
    factors: Factors

    @classmethod
    def of(cls, source: Source, factors: Factors) -> "CheckpointReplay":
        """Raises if there are no factors, or no checkpoints to replay."""
        if not len(factors):
            raise InvalidConfig(
                f"the factorization of {source.folder} has no factors; lower the threshold: "
                f"{source.command('discover', '--threshold')} …"
            )
        _ = source.sequence_task
        if not source.replay_steps:
            raise InvalidConfig(
                f"{source.folder} has no checkpoints to replay; train it again with --set replays=200"
            )
        events = source.events().count
        if factors.supports.shape[1] != events:
            raise DamagedArtefact(
                f"the factors cover {factors.supports.shape[1]} events but the source trains on {events}; "
                f"run {source.command('discover')} again"
            )
        return cls(source, factors)

    @property
    def steps(self) -> Sequence[int]:
        """The replayed steps."""
        return self.source.replay_steps

    @cached_property
    def supports(self) -> Tensor:
        """Labels of the gates on the training events."""
        return torch.from_numpy(self.factors.supports.copy()).to(self.source.device)

    def existence(self, step: int) -> Float[Tensor, " quanta"]:
        """The share of each curve's mass before a step."""
        curves = np.pad(self.factors.cumulative, ((0, 0), (1, 0)))
        share = [np.interp(step, self.source.steps, curve) for curve in curves]
        return torch.tensor(share, dtype=torch.float32).to(self.source.device)

    def check(self, config: RecoveredFit) -> None:
        """Raise if there are more parts than examples, or if replays or the pool do not fit into memory."""
        events, source, pool = self.source.events(), self.source.model(), config.pool
        device = self.source.device
        if config.parts > len(events):
            raise InvalidConfig(
                f"{len(events)} examples cannot be split into parts={config.parts}; use fewer parts"
            )
        shape, optimizer = config.model, config.training.optimizer
        size = f"a Q-model of writers={shape.writers}, rank={shape.rank}, value={shape.value}"
        kept_of_a_quantum = 2 * (shape.writers + shape.rank) + shape.value
        activations = len(self.factors) * kept_of_a_quantum * len(events.rows) // config.parts
        interface = source.interface()
        parameters = count_parameters(lambda: self.build(config, source.depth, interface))
        check_training(parameters, optimizer, what=size, activations=activations, device=device)
        more = 1 + pool.inputs / len(events)
        kept = (
            source.depth * source.width * len(events.rows)
            + len(self.source.sequence_task.vocabulary) * events.count
        )
        what = f"{len(self.steps)} replays of {len(events)} examples and pool.inputs={pool.inputs}"
        check_memory(FLOAT * len(self.steps) * kept * more, what, free=free_bytes(device))
        if pool.inputs:
            check_memory(_BYTES_OF_A_PROMPT * pool.numbers, f"pool.numbers={pool.numbers}")

    def build(self, config: RecoveredFit, blocks: int, interface: Interface) -> RecoveredQModel:
        """The Q-model before training."""
        return RecoveredQModel(
            layers=tuple(self.factors.layer.tolist()),
            blocks=blocks,
            interface=interface,
            config=config.model,
            seed=config.seed,
        )

    def all(self, pool: Pool, parts: int, seed: int) -> list[ReplayedCheckpoint]:
        """Every replayed step on the training inputs and on its share of the pool, split into parts."""
        examples = _examples(self.source.events())
        labels = self.supports.split(torch.bincount(self.source.events().example).tolist(), 1)
        drawn = pool_prompts(self.source, pool, seed) if pool.inputs else []
        finally_said = [] if pool.continued_by == "own" else self._continued(drawn, self._speaker(pool, seed))
        asked = [examples[part::parts] for part in range(parts)]
        events = [Events.of(*zip(*own, strict=True)) for own in asked]
        replays = []
        for index, step in enumerate(self.steps):
            model = self.source.model(step)
            if pool.inputs:
                turn = [(index * pool.inputs + i) % len(drawn) for i in range(pool.inputs)]
                said = (
                    [finally_said[i] for i in turn]
                    if finally_said
                    else self._continued([drawn[i] for i in turn], model)
                )
                events = [Events.of(*zip(*own, *said[part::parts], strict=True)) for part, own in enumerate(asked)]
            replays += [
                ReplayedCheckpoint.of(
                    model, own, existence=self.existence(step), supports=torch.cat(labels[part::parts], 1)
                )
                for part, own in enumerate(events)
            ]
        return replays

    def _speaker(self, pool: Pool, seed: int) -> Predictor:
        """The finished source, or what draws words from its predictions."""
        source = self.source.model()
        return sampler(source, seed) if pool.continued_by == "sampled" else source

    def _continued(
        self, prompts: Sequence[Sequence[int]], speaker: Predictor
    ) -> list[tuple[list[int], list[int]]]:
        """Prompts with a model's own answers, at most as long as the longest training answer."""
        task = self.source.sequence_task
        end, longest = task.token[task.end], int(self.source.events().index.max()) + 1
        said = decode(speaker, prompts, end=end, limit=longest, padding=task.padding) if prompts else []
        return [
            # A model that emits padding is made to stop.
            (list(prompt), [end if token == task.padding else token for token in output])
            for prompt, output in zip(prompts, said, strict=True)
        ]


def _examples(events: Events) -> list[tuple[list[int], list[int]]]:
    """The prompt and the output of every example."""
    first = events.position - events.index
    outputs = events.target.split(torch.bincount(events.example, minlength=len(events)).tolist())
    starts = first[torch.cat([events.example.new_zeros(1), events.example.diff().nonzero().flatten() + 1])]
    return [
        (row[: int(start) + 1].tolist(), output.tolist())
        for row, start, output in zip(events.tokens, starts, outputs, strict=True)
    ]


def pool_prompts(source: Source, pool: Pool, seed: int) -> list[list[int]]:
    """The prompts of the task's pool."""
    task = source.sequence_task
    if task.pool is None:
        raise InvalidConfig(
            f"the task of {source.folder} has no pool of inputs; give it SequenceTask(…, pool=…), or fit "
            "with the faithful preset, which needs none"
        )
    return task.prompts(task.pool(pool.numbers, seed))
