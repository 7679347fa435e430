"""Run-length encoding: aab is 2 a 1 b; runs are tuples of tuples."""

import itertools

from quantascope.program import Registry, when

registry = Registry()


@registry.quantum("RUNS", output_cardinality=99)
def runs(text):
    return tuple((len([*same]), letter) for letter, same in itertools.groupby(text))


@registry.quantum("RUN", output_cardinality=20)
def run(runs, position):
    return runs[position // 2] if position // 2 < len(runs) else (0, "")


@registry.quantum("PART", output_cardinality=3)
def part(run, position):
    return "end" if run[0] == 0 else "letter" if position % 2 else "count"


@registry.quantum("COUNT", output_cardinality=4)
def count(number):
    return str(number)


@registry.quantum("LETTER", output_cardinality=2)
def letter(run, *, of):
    return run[of]


@registry.quantum("END", output_cardinality=1)
def end(part):
    return "."


AUDIT = ["".join(text) for length in range(1, 5) for text in itertools.product("ab", repeat=length)]


@registry.entry(audit=AUDIT, vocabulary=[*"1234ab", "."], end=".")
def predict(state):
    current = run(runs(state.source), state.position)
    what = part(current, state.position)
    number, _ = current
    with when(what, "count") as counting:
        if counting:
            return count(number)
    with when(what, "letter") as naming:
        if naming:
            return letter(current, of=1)
    with when(what, "end") as over:
        if over:
            return end(what)
    return None


EDGES = {"RUNS": "RUN", "RUN": "PART", "PART": "COUNT LETTER END"}
WRITES = {"aab": "2 a 1 b ."}
