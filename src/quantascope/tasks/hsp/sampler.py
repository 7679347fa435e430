"""Fresh i.i.d. batches of (x, v, y_v(x)), fast and without state.

A batch is a pure function of seed, batch size and step: a resumed run sees the same examples as an uninterrupted
one, and no generator state has to be saved. Bits are drawn 64 at a time, labels come from masked popcounts on
the packed words, and signs from a table of bytes.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8, UInt64
from torch import Tensor

from quantascope.tasks.hsp.forest import Forest
from quantascope.tasks.hsp.supports import mask_of

WORD = 64
_EXAMPLES_PER_DRAW = 8192
_SIGNS_OF_BYTE = (1 - 2 * ((np.arange(256)[:, None] >> np.arange(8)) & 1)).astype(np.float32)


class Batch(NamedTuple):
    """What the learner sees: signs of the sensors (bit 1 is −1), a task identity, and the target as ±1."""

    signs: Float[Tensor, "batch sensors"]
    task: Int[Tensor, " batch"]
    target: Float[Tensor, " batch"]


class PackedTasks:
    """The tasks of a forest as bit masks: what turns packed sensor words into labels."""

    def __init__(self, forest: Forest) -> None:
        self.sensors, self.even = forest.sensors, forest.even
        self.words = -(-forest.sensors // WORD)
        paths = [forest.path(node) for node in forest.tasks.tolist()]
        self.levels = max(len(path) for path in paths)
        self.length = np.array([len(path) for path in paths])
        self.mask = np.zeros((len(paths), self.levels, self.words), dtype=np.uint64)
        for row, path in enumerate(paths):
            for level, node in enumerate(path):
                mask = mask_of(forest.support[node])
                self.mask[row, level] = [(mask >> (WORD * word)) & (2**WORD - 1) for word in range(self.words)]

    def pack(self, bits: UInt8[np.ndarray, "... sensors"]) -> UInt64[np.ndarray, "... words"]:
        """Bits of sensors as words."""
        padded = np.zeros((*bits.shape[:-1], self.words * WORD), dtype=np.uint8)
        padded[..., : self.sensors] = bits
        return np.packbits(padded, axis=-1, bitorder="little").view("<u8").astype(np.uint64)

    def parities(
        self, packed: UInt64[np.ndarray, "inputs words"], task: Int[np.ndarray, " inputs"]
    ) -> Bool[np.ndarray, "inputs levels"]:
        """Local parities along the path of each input's task; meaningless beyond its end."""
        masked = np.take(self.mask, task, axis=0)
        np.bitwise_and(masked, packed[:, None, :], out=masked)
        return (np.bitwise_count(np.bitwise_xor.reduce(masked, axis=-1)) & 1).astype(bool) ^ self.even

    def labels(
        self, parities: Bool[np.ndarray, "inputs levels"], task: Int[np.ndarray, " inputs"]
    ) -> Bool[np.ndarray, " inputs"]:
        """Fold the local parities of a path by NAND, root first."""
        output, length = parities[:, 0], self.length[task]
        for level in range(1, self.levels):
            output = np.where(level < length, ~(output & parities[:, level]), output)
        return output

    def signs(self, packed: UInt64[np.ndarray, "inputs words"]) -> Float[Tensor, "inputs sensors"]:
        """Packed bits as floats ±1."""
        octets = packed.astype("<u8", copy=False).view(np.uint8)[:, : -(-self.sensors // 8)]
        signs = np.take(_SIGNS_OF_BYTE, octets, axis=0).reshape(len(packed), -1)
        return torch.from_numpy(signs)[:, : self.sensors]


class FreshBatches:
    """Endless i.i.d. batches of a forest: ``batches(step)`` depends on seed, batch size and step alone.

    >>> from quantascope.tasks.hsp import FlatFamily, build_forest
    >>> batches = FreshBatches(build_forest(FlatFamily()), batch_size=4, seed=0)
    >>> batches(7).signs.shape, bool((batches(7).signs == batches(7).signs).all())
    (torch.Size([4, 64]), True)
    """

    def __init__(self, forest: Forest, *, batch_size: int, seed: int) -> None:
        self._tasks = PackedTasks(forest)
        self._cumulative = np.cumsum(forest.task_probability)
        self._batch_size, self._seed = batch_size, seed
        self._steps_per_draw = max(1, _EXAMPLES_PER_DRAW // batch_size)
        self._drawn: tuple[int, Batch] | None = None

    def __call__(self, step: int) -> Batch:
        index, offset = divmod(step, self._steps_per_draw)
        if self._drawn is None or self._drawn[0] != index:
            self._drawn = (index, self._draw(index))
        rows = slice(offset * self._batch_size, (offset + 1) * self._batch_size)
        return Batch(*(column[rows] for column in self._drawn[1]))

    def _draw(self, index: int) -> Batch:
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([self._seed, index])))
        examples = self._steps_per_draw * self._batch_size
        # The last cumulative sum may fall short of one by rounding, so it is not searched.
        task = np.searchsorted(self._cumulative[:-1], rng.random(examples), side="right")
        packed = rng.bit_generator.random_raw(examples * self._tasks.words).reshape(examples, -1)
        label = self._tasks.labels(self._tasks.parities(packed, task), task)
        target = torch.from_numpy(2 * label.astype(np.float32) - 1)
        return Batch(self._tasks.signs(packed), torch.from_numpy(task), target)
