"""Random draws in the order of the paper's released code, so that its seeds give its tasks and examples.

    supports   for each role a table of distinct ones, chosen from all combinations of the role's pool
    batches    one stream of a torch generator: the tasks of a batch, then all of its bits; or so for each of
               several parts of a batch
    panel      every assignment of what a task reads, in turn, on bits of another generator; for trees, the same
               bits for every task

`draws="paper"` of a family and of a learner asks for them. A batch is not a function of its step alone here: one
that is not the next in the stream is reached by drawing all before it.
"""

import itertools

import numpy as np
import torch

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.hsp.forest import Forest
from quantascope.tasks.hsp.panel import Panel, panel_of
from quantascope.tasks.hsp.sampler import Batch, PackedTasks
from quantascope.tasks.hsp.supports import Support

_ROLE = 104_729
"""Offset between the seeds of two roles."""
_TASKS_AT_ONCE = 16
"""Tasks in one draw of the panel."""


def role_supports(count: int, *, degree: int, pool: int, first: int, role: int, seed: int) -> list[Support]:
    """Distinct supports of a role, whose pool begins at a sensor.

    >>> sorted(role_supports(3, degree=2, pool=3, first=10, role=1, seed=0))
    [(10, 11), (10, 12), (11, 12)]
    """
    every = list(itertools.combinations(range(first, first + pool), degree))
    if count > len(every):
        raise InvalidConfig(
            f"{count} supports of degree {degree} do not fit into {pool} sensors, which have {len(every)}; "
            "use a larger pool"
        )
    chosen = np.random.default_rng(seed + _ROLE * role).choice(len(every), size=count, replace=False)
    return [every[one] for one in chosen]


def ranked_frequency(frequency: np.ndarray, seed: int) -> np.ndarray:
    """Frequencies in order of rank, dealt to tasks.

    >>> ranked_frequency(np.array([0.5, 0.3, 0.2]), 0), np.random.default_rng(0).permutation(3)
    (array([0.3, 0.2, 0.5]), array([2, 0, 1]))
    """
    dealt = np.empty_like(frequency)
    dealt[np.random.default_rng(seed).permutation(len(frequency))] = frequency
    return dealt


class AuthorsBatches:
    """The batch of each step; consecutive steps are fast.

    >>> from quantascope.tasks.hsp import ComposedFamily, build_forest
    >>> batches = AuthorsBatches(build_forest(ComposedFamily()), batch_size=4, seed=1000)
    >>> later = batches(2)
    >>> bool((batches(0).signs == later.signs).all()), bool((batches(2).signs == later.signs).all())
    (False, True)
    """

    def __init__(self, forest: Forest, *, batch_size: int, seed: int, at_once: int | None = None) -> None:
        self._tasks = PackedTasks(forest)
        self._probability = torch.tensor(forest.task_probability, dtype=torch.float32)
        self._batch_size, self._seed, self._at_once = batch_size, seed, at_once or batch_size
        self._restart()

    def __call__(self, step: int) -> Batch:
        if step < self._next:
            self._restart()
        while self._next < step:
            self._bits_of_next()
        task, bits = self._bits_of_next()
        packed = self._tasks.pack(bits)
        label = self._tasks.labels(self._tasks.parities(packed, task.numpy()), task.numpy())
        target = torch.from_numpy(2 * label.astype(np.float32) - 1)
        return Batch(self._tasks.signs(packed), task, target)

    def _restart(self) -> None:
        self._generator, self._next = torch.Generator().manual_seed(self._seed), 0

    def _bits_of_next(self) -> tuple[torch.Tensor, np.ndarray]:
        """Tasks, and the sensors of which the sign is −1."""
        left, tasks, drawn = self._batch_size, [], []
        while left:
            size = min(left, self._at_once)
            tasks.append(torch.multinomial(self._probability, size, replacement=True, generator=self._generator))
            drawn.append(torch.randint(0, 2, (size, self._tasks.sensors), generator=self._generator))
            left -= size
        self._next += 1
        return torch.cat(tasks), _minus(torch.cat(drawn))


def authors_panel(forest: Forest, *, inputs: int, seed: int) -> Panel:
    """A balanced panel on the authors' bits."""
    generator = torch.Generator().manual_seed(seed)
    tasks = forest.tasks.tolist()
    chunks = [min(_TASKS_AT_ONCE, len(tasks) - at) for at in range(0, len(tasks), _TASKS_AT_ONCE)]
    drawn = [torch.randint(0, 2, (size, inputs, forest.sensors), generator=generator) for size in chunks]
    bits = _minus(torch.cat(drawn))
    for row, node in enumerate(tasks):
        read = [sensor for above in forest.path(node) for sensor in forest.support[above]]
        bits[row][:, read] = 1 - ((np.arange(inputs)[:, None] >> np.arange(len(read))) & 1)
    return panel_of(forest, bits)


def authors_shared_panel(forest: Forest, *, inputs: int, seed: int) -> Panel:
    """A panel that asks every task about the same of the authors' bits."""
    generator = torch.Generator().manual_seed(seed)
    return panel_of(forest, _minus(torch.randint(0, 2, (1, inputs, forest.sensors), generator=generator)))


def _minus(drawn: torch.Tensor) -> np.ndarray:
    """A drawn 0 is the sign −1, which here is the bit 1."""
    return (1 - drawn).numpy().astype(np.uint8)
