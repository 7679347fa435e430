"""The hidden units of an MLP: which entry of which parameter belongs to which unit."""

import numpy as np
from jaxtyping import Int


def hidden_unit_groups(*, inputs: int, hidden: int, outputs: int) -> Int[np.ndarray, " parameters"]:
    """Group of each parameter of a two-layer MLP, laid out as weight in, bias in, weight out, bias out.

    The weights are [hidden, inputs] and [outputs, hidden], row by row, as torch's linear layers have them.

    >>> hidden_unit_groups(inputs=2, hidden=2, outputs=1)
    array([0, 0, 1, 1, 0, 1, 0, 1, 2])
    """
    unit = np.arange(hidden)
    return np.concatenate(
        [np.repeat(unit, inputs), unit, np.tile(unit, outputs), np.full(outputs, hidden, dtype=unit.dtype)]
    )
