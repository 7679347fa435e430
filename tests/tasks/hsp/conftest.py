"""Random forests, grown with an independent check of what a forest may hold."""

from collections.abc import Callable

import numpy as np
import pytest

from quantascope.tasks.hsp import Forest


@pytest.fixture(scope="session")
def grow_forest() -> Callable[..., Forest]:
    """A forest of up to `nodes` nodes, some of them unqueried; independence is checked by listing the span."""

    def grow(seed: int, *, nodes: int, sensors: int, degree: int = 3) -> Forest:
        rng = np.random.default_rng(seed)
        parent, support, spans = [], [], []
        for _ in range(nodes):
            above = int(rng.integers(-1, len(parent)))
            span = spans[above] if above >= 0 else {frozenset()}
            for _ in range(100):
                size = int(rng.integers(1, min(degree, sensors) + 1))
                proposed = frozenset(rng.choice(sensors, size, replace=False).tolist())
                if proposed not in span and tuple(sorted(proposed)) not in support:
                    parent.append(above)
                    support.append(tuple(sorted(proposed)))
                    spans.append(span | {inside ^ proposed for inside in span})
                    break
        weight = rng.integers(0, 4, len(parent)).astype(float)
        weight[-1] += 1
        return Forest(
            parent=np.array(parent), support=tuple(support), query=weight / weight.sum(), sensors=sensors
        )

    return grow
