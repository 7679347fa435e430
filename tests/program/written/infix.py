"""A parser: sums and products of letters into postfix, a+b*c into a b c * +."""

import itertools

from quantascope.program import Registry, when

PRIORITY = {"+": 1, "*": 2}
registry = Registry()


def parse(tokens, least=1):
    """Precedence climbing, as a list of postfix symbols."""
    found = [tokens.pop(0)]
    while tokens and PRIORITY[tokens[0]] >= least:
        operator = tokens.pop(0)
        found += [*parse(tokens, PRIORITY[operator] + 1), operator]
    return found


@registry.quantum("POSTFIX", output_cardinality=99)
def postfix(text):
    return tuple(parse(list(text)))


@registry.quantum("SYMBOL", output_cardinality=6)
def symbol(postfix, position):
    return postfix[position] if position < len(postfix) else None


@registry.quantum("KIND", output_cardinality=3)
def kind(symbol):
    return "end" if symbol is None else "operator" if symbol in PRIORITY else "operand"


@registry.quantum("OPERAND", output_cardinality=3)
def operand(symbol):
    return symbol


@registry.quantum("OPERATOR", output_cardinality=2)
def operator(symbol):
    return symbol


@registry.quantum("END", output_cardinality=1)
def end(kind):
    return "."


AUDIT = ["a", "b+c", *(f"{x}{p}{y}{q}c" for x, y, p, q in itertools.product("ab", "bc", "+*", "+*"))]


@registry.entry(audit=AUDIT, vocabulary=[*"abc+*", "."], end=".")
def predict(state):
    now = symbol(postfix(state.source), state.position)
    sort = kind(now)
    token = None
    with when(sort, "operand") as is_operand:
        if is_operand:
            token = operand(now)
    with when(sort, "operator") as is_operator:
        if is_operator:
            token = operator(now)
    with when(sort, "end") as is_end:
        if is_end:
            token = end(sort)
    return token


EDGES = {"POSTFIX": "SYMBOL", "SYMBOL": "KIND", "KIND": "OPERAND OPERATOR END"}
WRITES = {"a+b*c": "a b c * + .", "a*b+c": "a b * c + ."}
