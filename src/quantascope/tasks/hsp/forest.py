"""`Forest`: Boolean tasks composed of sparse parities (paper, section 4.1 and appendix A.1).

Node v owns a support S_v and the local parity z_v(x) = XOR of x over S_v. A root returns y = z; every other
node returns y_v = NAND(y_parent, z_v). Nodes with a positive query probability are the tasks that a learner is
asked; the learner sees the dense bit vector and an opaque task identity, never the forest.

A flat family is a forest of roots. The composed staircase is one too: its shared parities are roots that are
never queried, its tasks are their children, each of which brings a private parity.

In an `even` forest z_v(x) is true where that XOR is false, as in the paper's released code.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.hsp.supports import Support, mask_of, reduce_mask


@dataclass(frozen=True, kw_only=True, eq=False)
class Forest:
    """Composed parity tasks over `sensors` bits, parents before children.

    >>> forest = Forest(
    ...     parent=np.array([-1, 0]), support=((0, 1), (1, 2)), query=np.array([0.5, 0.5]), sensors=3
    ... )
    >>> forest.outputs(np.array([[1, 0, 0], [1, 0, 1]], dtype=bool)).astype(int)
    array([[1, 1],
           [1, 0]])
    """

    parent: Int[np.ndarray, " nodes"]
    support: tuple[Support, ...]
    query: Float[np.ndarray, " nodes"]
    sensors: int
    even: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "parent", np.asarray(self.parent, dtype=np.int64))
        object.__setattr__(self, "support", tuple(tuple(sorted(s)) for s in self.support))
        object.__setattr__(self, "query", np.asarray(self.query, dtype=np.float64))
        nodes = len(self.parent)
        if not (nodes == len(self.support) == len(self.query) > 0):
            raise InvalidConfig(
                f"a forest needs one parent, support and query probability per node, got "
                f"{nodes}, {len(self.support)} and {len(self.query)}"
            )
        self._validate_nodes()
        if (self.query < 0).any() or not np.isclose(self.query.sum(), 1, rtol=0, atol=1e-9):
            raise InvalidConfig(
                f"query probabilities must be nonnegative and sum to one, got sum {self.query.sum():.6g} "
                f"and smallest {self.query.min():.6g}"
            )

    def _validate_nodes(self) -> None:
        owner: dict[Support, int] = {}
        bases: list[list[int]] = []
        for node, (above, support) in enumerate(zip(self.parent.tolist(), self.support, strict=True)):
            if not -1 <= above < node:
                raise InvalidConfig(f"node {node} has parent {above}; parents must come before their children")
            if (
                not support
                or len(set(support)) < len(support)
                or not 0 <= support[0] <= support[-1] < self.sensors
            ):
                raise InvalidConfig(
                    f"node {node} has support {support}; it needs distinct sensors below {self.sensors}"
                )
            if support in owner:
                raise InvalidConfig(f"nodes {owner[support]} and {node} share the support {support}")
            owner[support] = node
            basis = bases[above] if above >= 0 else []
            rest = reduce_mask(mask_of(support), basis)
            if not rest:
                raise InvalidConfig(f"the support {support} of node {node} is linearly dependent on its path")
            bases.append(sorted([*basis, rest], reverse=True))

    @cached_property
    def depth(self) -> Int[np.ndarray, " nodes"]:
        """Edges from the root of its tree to each node."""
        depth = np.zeros(len(self.parent), dtype=np.int64)
        for node, above in enumerate(self.parent.tolist()):
            if above >= 0:
                depth[node] = depth[above] + 1
        return depth

    @cached_property
    def tasks(self) -> Int[np.ndarray, " tasks"]:
        """The queried nodes; a task identity is an index into this array."""
        return np.flatnonzero(self.query > 0)

    @cached_property
    def task_probability(self) -> Float[np.ndarray, " tasks"]:
        """Query probability of each task."""
        return self.query[self.tasks]

    def path(self, node: int) -> list[int]:
        """Nodes from the root of its tree to `node`."""
        path = [node]
        while (above := int(self.parent[path[-1]])) >= 0:
            path.append(above)
        return path[::-1]

    @cached_property
    def requires(self) -> Bool[np.ndarray, "tasks nodes"]:
        """A(x): the nodes on the path of each task."""
        requires = np.zeros((len(self.tasks), len(self.parent)), dtype=bool)
        for row, node in enumerate(self.tasks.tolist()):
            requires[row, self.path(node)] = True
        return requires

    def outputs(self, bits: Bool[np.ndarray, "inputs sensors"]) -> Bool[np.ndarray, "inputs nodes"]:
        """The output of every node, node after node: the definition, for checking faster code."""
        outputs = np.empty((len(bits), len(self.parent)), dtype=bool)
        for node, (above, support) in enumerate(zip(self.parent.tolist(), self.support, strict=True)):
            parity = np.logical_xor.reduce(bits[:, support], axis=1) ^ self.even
            outputs[:, node] = parity if above < 0 else ~(outputs[:, above] & parity)
        return outputs
