"""Sums such as 12+3; arguments are matches, patterns, modules, functions and views of tables."""

import operator
import re
from types import MappingProxyType

import numpy as np

from quantascope.program import Registry, when

NUMBER = re.compile(r"\d+")
SIGNS = MappingProxyType({"+": "add", "-": "sub"})
MANY = MappingProxyType({str(number): number for number in range(1000)})
TEXTS = [f"{a}{sign}{b}" for a in (7, 12, 30) for sign in "+-" for b in (0, 3, 5)]
AUDIT = [re.fullmatch(r"(\d+)([+-])(\d+)", text) for text in TEXTS]

registry = Registry()


@registry.quantum("OPERATION", output_cardinality=2)
def operation(found, signs):
    return signs[found[2]]


@registry.quantum("NUMBERS", output_cardinality=99)
def numbers(found, pattern, table):
    return tuple(table[text] for text in pattern.findall(found.string))


@registry.quantum("VALUE", output_cardinality=99)
def value(operation, numbers, module, absolute, made):
    return int(absolute(made(getattr(module, operation)(*numbers))))


@registry.quantum("STAGE", output_cardinality=2)
def stage(position):
    return "end" if position else "value"


@registry.quantum("WRITE", output_cardinality=99)
def write(value):
    return str(value)


@registry.quantum("END", output_cardinality=1)
def end(stage):
    return "."


@registry.entry(audit=AUDIT, vocabulary=[*map(str, range(40)), "."], end=".")
def predict(state):
    now = stage(state.position)
    with when(now, "end") as over:
        if over:
            return end(now)
    with when(now, "value") as begins:
        if begins:
            pair = numbers(state.source, NUMBER, MANY)
            return write(value(operation(state.source, SIGNS), pair, operator, np.abs, lambda n: n))
    return None


EDGES = {
    "STAGE": "OPERATION NUMBERS END",
    "OPERATION": "VALUE",
    "NUMBERS": "VALUE",
    "VALUE": "WRITE",
}
WRITES = {AUDIT[1]: "10 .", AUDIT[-1]: "25 ."}
