"""Controls: events outside a set that resemble the events inside, event by event.

    by context   all events of the pool that agree in the most specific context that any of them shares:
                 output word, length and position; word and length; word; length and position; nothing
    by curve     the events of the pool with the same output word whose loss curves are nearest

Each event of the set has its own controls, with weights that sum to one. The mean of any event property over
controls is therefore one matrix product.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events

Contexts = Int[np.ndarray, "levels events"]
"""The context of each event at each level, the most specific first; the last may be the same for all events."""
NEAREST = 5
CALIPER = 0.1
"""Nats of mean loss over training within which a loss curve counts as alike."""


@dataclass(frozen=True, eq=False)
class Controls:
    """The controls of each matched event, as weights over all events, and the level at which they agree."""

    weights: Float[np.ndarray, "matched events"]
    level: Int[np.ndarray, " matched"]

    def mean(self, values: Float[np.ndarray, " events"]) -> float:
        """The mean over the matched events of their controls' values."""
        return float(self.weights.mean(0) @ values)


def event_contexts(events: Events) -> Contexts:
    """Contexts of a sequence task: word, length, position; word, length; word; length, position; nothing."""
    length = (events.length - torch.bincount(events.example, minlength=len(events)))[events.example]
    word, place = events.target, events.index
    levels = ((word, length, place), (word, length), (word,), (length, place), ())
    return np.stack([_numbered([part.numpy() for part in parts], events.count) for parts in levels])


WORD_LEVEL = 2
"""The level of `event_contexts` at which events share no more than their output word."""


def match_by_context(
    asked: Bool[np.ndarray, " events"], pool: Bool[np.ndarray, " events"], contexts: Contexts
) -> Controls:
    """Match each event with all events of the pool that agree with it at the first level where any does.

    >>> contexts = np.array([[0, 0, 1, 2], [0, 0, 0, 0]])
    >>> matched = match_by_context(
    ...     np.array([True, False, True, False]), np.array([False, True, False, True]), contexts
    ... )
    >>> matched.weights, matched.level
    (array([[0. , 1. , 0. , 0. ],
           [0. , 0.5, 0. , 0.5]]), array([0, 1]))
    """
    chosen = np.flatnonzero(asked)
    weights, level = np.zeros((len(chosen), len(pool))), np.full(len(chosen), -1)
    for number, context in enumerate(contexts):
        left = level < 0
        agree = (context[chosen[left]][:, None] == context) & pool
        found = agree.any(1)
        rows = np.flatnonzero(left)[found]
        weights[rows] = agree[found] / agree[found].sum(1, keepdims=True)
        level[rows] = number
    if (level < 0).any():
        raise InvalidConfig(f"{(level < 0).sum()} events have no control; give a pool that is not empty")
    return Controls(weights, level)


def match_by_curve(
    asked: Bool[np.ndarray, " events"],
    pool: Bool[np.ndarray, " events"],
    contexts: Contexts,
    curves: Float[np.ndarray, "events evaluations"],
    *,
    nearest: int = NEAREST,
) -> Controls:
    """Match as `match_by_context`, but keep only the agreeing events with the nearest loss curves.

    If fewer than `nearest` events agree, all of them are kept.
    """
    matched = match_by_context(asked, pool, contexts)
    weights = np.zeros_like(matched.weights)
    for row, event in enumerate(np.flatnonzero(asked).tolist()):
        candidates = np.flatnonzero(matched.weights[row])
        distance = np.linalg.norm(curves[candidates] - curves[event], axis=1)
        best = candidates[np.argsort(distance, kind="stable")[:nearest]]
        weights[row, best] = 1 / len(best)
    return Controls(weights, matched.level)


def alike_in_loss(
    controls: Controls, asked: Bool[np.ndarray, " events"], curves: Float[np.ndarray, "events evaluations"]
) -> Bool[np.ndarray, " matched"]:
    """Whether the mean loss of each event over training is that of its controls, within the caliper."""
    mean = curves.mean(1)
    return np.abs(controls.weights @ mean - mean[asked]) <= CALIPER


def _numbered(parts: list[np.ndarray], events: int) -> Int[np.ndarray, " events"]:
    if not parts:
        return np.zeros(events, dtype=np.int64)
    return np.unique(np.stack(parts, 1), axis=0, return_inverse=True)[1].reshape(-1)
