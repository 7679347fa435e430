"""Evaluates sums and products in postfix, one digit each, and writes the value from the right: 2 3 + is 5."""

import itertools

from quantascope.program import Registry, when

registry = Registry()


@registry.quantum("STACK", output_cardinality=999)
def evaluate(text):
    stack = []
    for symbol in text:
        if symbol.isdigit():
            stack.append(int(symbol))
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(left + right if symbol == "+" else left * right)
    return tuple(stack)


@registry.quantum("LEFT", output_cardinality=999)
def left_over(stack, position):
    return stack[0] // 10**position


@registry.quantum("MORE", output_cardinality=2)
def more(left, position):
    return left > 0 or position == 0


@registry.quantum("DIGIT", output_cardinality=10)
def digit(left):
    return str(left % 10)


@registry.quantum("END", output_cardinality=1)
def end(more):
    return "."


NUMBERS = [*itertools.product("0259", repeat=3)]
AUDIT = [f"{a}{b}{first}{c}{second}" for a, b, c in NUMBERS for first, second in ("++", "+*", "*+")]


@registry.entry(audit=AUDIT, vocabulary=[*"0123456789", "."], end=".")
def predict(state):
    left = left_over(evaluate(state.source), state.position)
    going = more(left, state.position)
    for case, write in ((True, lambda: digit(left)), (False, lambda: end(going))):
        with when(going, case) as here:
            if here:
                return write()
    return None


EDGES = {"STACK": "LEFT", "LEFT": "MORE", "MORE": "DIGIT END"}
WRITES = {"23+4*": "0 2 .", "00+0+": "0 ."}
