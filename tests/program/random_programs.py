"""Random small programs as text, with the graph that each must have, and mutants that hide a dependency.

Quanta are random functions of values 0, 1, 2. A program is a tree of blocks: some quanta, then a token, or guards
with a block for every case, or a guard whose block returns before the rest. A mutant hands one value on behind the
compiler's back; it must be refused.

    python tests/program/random_programs.py --count 2000
"""

import argparse
import itertools
import random
from collections import Counter
from dataclasses import dataclass, field

from quantascope.program import Program, ProgramError, State, compile_program
from quantascope.program.plain_run import PlainRun, Replacement
from quantascope.program.violations import DeadQuantum, NoEffect

DIGITS = 9
AUDITED = 240
PREAMBLE = """
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from quantascope.program import Registry, lift, when

registry = Registry()
KEPT = {}


@dataclass(frozen=True)
class Box:
    value: object


def swapped(pair):
    first, second = pair
    return second, first


def probe():
    pass
"""
ENTRY = f"""
AUDIT = [tuple(Random(seed).choices(range(3), k={DIGITS})) for seed in range({AUDITED})]


@registry.entry(audit=AUDIT, vocabulary=[*"xyz."], end=".")
def predict(state):
    digits = state.source
"""
FORMS = (
    "{}", "{} + 0", "(2 - {}) % 3", "lift(int, {})", "Box({}).value", "swapped((0, {}))[0]", "(1, {})[1]",
    "lift(max, {}, 0)", "lift((0, 1, 2).__getitem__, {})", "lift({{0: 1, 1: 2, 2: 0}}.get, {})",
)  # fmt: skip
ROUTES = {
    "a global": ("", "", "KEPT['{p}']"),
    "an attribute of a function": ("lift(lambda v: setattr(probe, '{p}', v), {p})", "", "probe.{p}"),
    "a constant under guards": (
        "hidden = 0\nfor case in (1, 2):\n    with when({p}, case) as holds:\n        if holds:\n"
        "            hidden = case",
        "hidden", "{x}",
    ),
    "an object under guards": (
        "hidden = SimpleNamespace(v=0)\nfor case in (1, 2):\n    with when({p}, case) as holds:\n"
        "        if holds:\n            hidden = SimpleNamespace(v=case)",
        "hidden", "{x}.v",
    ),
    "a function under guards": (
        "hidden = lambda v: v * 0\nfor case in (1, 2):\n    with when({p}, case) as holds:\n        if holds:\n"
        "            hidden = lambda v, case=case: v * 0 + case",
        "lift(hidden, digits[0])", "{x}",
    ),
    "a list that is changed": ("hidden = [0]\nlift(hidden.__setitem__, 0, {p})", "hidden", "{x}[0]"),
    "a set that is changed": ("hidden = set()\nlift(hidden.add, {p})", "hidden", "max({x})"),
    "the inside of a value": ("hidden = getattr({p}, 'traced_value', {p})", "hidden", "{x}"),
    "the text of a value": (
        "hidden = next((n for n in (1, 2) if repr({p}) == str(n)), 0)", "hidden", "{x}",
    ),
    "exceptions": (
        "hidden = 0\nfor case in (1, 2):\n    try:\n        lift(lambda v, case: 1 // (v != case), {p}, case)\n"
        "    except ZeroDivisionError:\n        hidden = case",
        "hidden", "{x}",
    ),
}  # fmt: skip
"""What is done before the call, the argument in the place of the hidden one, and how the body reads it."""


@dataclass(frozen=True)
class Hidden:
    """A dependency that a mutant hides, and how."""

    parent: str
    child: str
    route: str


@dataclass
class Writer:
    """Writes a program, and notes what it knows of it."""

    draw: random.Random
    hidden: Hidden | None = None
    quanta: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    data: dict[str, set[str]] = field(default_factory=dict)
    control: dict[str, set[str]] = field(default_factory=dict)
    passed: dict[str, set[str]] = field(default_factory=dict)

    def text(self) -> str:
        return "\n".join([PREAMBLE, *self.quanta, ENTRY, *self.lines, "    return None", ""])

    def line(self, depth: int, text: str) -> None:
        self.lines += ["    " * depth + line for line in text.split("\n")]

    def call(self, depth: int, scope: "Scope", parents: list[str], outputs: str) -> str:
        """A new quantum of these parents and perhaps of a digit; its variable."""
        name = f"q{len(self.data)}"
        digits = [f"digits[{len(scope.known) % DIGITS}]"] * (not parents or self.draw.random() < 0.8)
        given = [self.draw.choice(FORMS).format(source) for source in (*parents, *digits)]
        reads = [f"x{place}" for place in range(len(given))]
        self.data[name], self.control[name] = set(parents), set(scope.guards)
        self.passed[name] = set(scope.passed)
        hidden = self.hidden if self.hidden and self.hidden.child == name else None
        if hidden:
            place = parents.index(hidden.parent)
            before, argument, read = (
                part.format(p=hidden.parent, x=reads[place]) for part in ROUTES[hidden.route]
            )
            if before:
                self.line(depth, before)
            given[place], reads[place] = argument or "0", read
        self.line(depth, f"{name} = {name}_({', '.join(given)})")
        self.quanta.append(self.body(name, reads, outputs))
        return name

    def body(self, name: str, reads: list[str], outputs: str) -> str:
        """A weighted sum of all arguments, and a permutation: each argument always matters."""
        values = "".join(self.draw.sample(outputs, 3))
        index = " + ".join(f"{self.draw.choice((1, 2))} * ({read})" for read in reads)
        found = f"'{values}'[({index}) % 3]" if outputs == "xyz" else f"int('{values}'[({index}) % 3])"
        parameters = ", ".join(f"x{place}" for place in range(len(reads)))
        kept = self.hidden and self.hidden.parent == name and self.hidden.route == "a global"
        stored = f"KEPT.__setitem__('{name}', found) or found" if kept else "found"
        return (
            f"@registry.quantum('{name}', output_cardinality=3)\ndef {name}_({parameters}):\n"
            f"    found = {found}\n    return {stored}\n"
        )


@dataclass(frozen=True)
class Scope:
    """Variables at hand, those that must still lead to the token, the open guards, and those that were passed."""

    known: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()

    def plus(self, name: str, parents: list[str]) -> "Scope":
        pending = tuple(one for one in self.pending if one not in parents)
        return Scope((*self.known, name), (*pending, name), self.guards, self.passed)

    def under(self, guard: str) -> "Scope":
        pending = tuple(one for one in self.pending if one != guard)
        return Scope(self.known, pending, (*self.guards, guard), self.passed)

    def after(self, guard: str) -> "Scope":
        return Scope(self.known, self.pending, self.guards, (*self.passed, guard))


def _block(writer: Writer, depth: int, scope: Scope, rounds: int) -> None:
    draw = writer.draw
    for _ in range(draw.randint(1, 2)):
        parents = draw.sample(scope.known, min(len(scope.known), draw.randint(0, 2)))
        scope = scope.plus(writer.call(depth, scope, parents, "012"), parents)
    free = [name for name in scope.known if name not in scope.guards and name not in scope.passed]
    guard = draw.choice(free) if free and rounds else None
    if guard is None or draw.random() < 0.2:
        _token(writer, depth, scope)
    elif draw.random() < 0.5:
        for case in range(3):
            writer.line(depth, f"with when({guard}, {case}) as holds:\n    if holds:")
            _block(writer, depth + 2, scope.under(guard), rounds - 1)
    else:
        writer.line(depth, f"with when({guard}, {draw.randrange(3)}) as holds:\n    if holds:")
        _block(writer, depth + 2, scope.under(guard), 0)
        _block(writer, depth, scope.after(guard), rounds - 1)


def _token(writer: Writer, depth: int, scope: Scope) -> None:
    while len(scope.pending) > 2:
        parents = list(scope.pending[:2])
        scope = scope.plus(writer.call(depth, scope, parents, "012"), parents)
    writer.line(depth, f"return {writer.call(depth, scope, list(scope.pending), 'xyz')}")


@dataclass(frozen=True)
class Known:
    """A program as text, its direct edges, what comes after which guard, and the parents of each quantum."""

    text: str
    edges: frozenset[tuple[str, str]]
    passed: frozenset[tuple[str, str]]
    parents: dict[str, set[str]]
    data: dict[str, set[str]]
    control: dict[str, set[str]]


def random_program(seed: int, hidden: Hidden | None = None) -> Known:
    """The program of a seed, or a mutant of it."""
    writer = Writer(random.Random(seed), hidden)
    writer.quanta.append(
        "stage_ = registry.quantum('stage', output_cardinality=2)(lambda position: min(position, 1))\n"
        "end_ = registry.quantum('end', output_cardinality=1)(lambda stage: '.')\n"
    )
    writer.line(1, "stage = stage_(state.position)")
    writer.line(1, "with when(stage, 1) as over:\n    if over:\n        return end_(stage)")
    writer.line(1, "with when(stage, 0) as begins:\n    if begins:")
    _block(writer, 3, Scope(guards=("stage",)), rounds=2)
    parents = {name: writer.data[name] | writer.control[name] for name in writer.data}
    parents |= {"stage": set(), "end": {"stage"}}
    above = {name: ancestors(parents, name) for name in parents}
    edges = {
        (parent, child)
        for child, given in parents.items()
        for parent in given
        if not any(parent in above[other] for other in given)
    }
    passed = {(guard, name) for name, guards in writer.passed.items() for guard in guards - above[name]}
    return Known(writer.text(), frozenset(edges), frozenset(passed), parents, writer.data, writer.control)


def ancestors(parents: dict[str, set[str]], name: str) -> set[str]:
    """Everything above a quantum."""
    return {up for parent in parents[name] for up in (parent, *ancestors(parents, parent))}


def mutants(seed: int) -> list[Hidden]:
    """The dependencies of a program that can be hidden: without the edge, the parent is no ancestor."""
    known = random_program(seed)
    found = []
    for child, given in known.data.items():
        for parent in sorted(given):
            without = {**known.parents, child: given - {parent} | known.control[child]}
            if parent not in ancestors(without, child):
                found += [Hidden(parent, child, route) for route in ROUTES]
    return found


def compiled(known: Known):
    """The program of a text, compiled; None if a quantum has no effect by chance, or never runs."""
    module: dict[str, object] = {"__name__": "a random program"}
    exec(compile(known.text, "<random program>", "exec"), module)
    try:
        return compile_program(module["predict"])
    except (NoEffect, DeadQuantum):
        return None


def check(seed: int) -> str:
    """Compare the compiled graph of a seed with the known one; what came of it."""
    known = random_program(seed)
    found = compiled(known)
    if found is None:
        return "no effect"
    edges = frozenset(map(tuple, found.to_json()["edges"]))
    assert edges == known.edges, f"seed {seed}: {sorted(edges ^ known.edges)}\n{known.text}"
    assert frozenset(found.passed_guards) == known.passed, f"seed {seed}: {found.passed_guards}\n{known.text}"
    return "equal"


def check_mutant(seed: int, hidden: Hidden) -> str:
    """A mutant must be refused, or have the dependency in its graph, unless no input shows it; what came of it."""
    try:
        found = compiled(random_program(seed, hidden))
    except ProgramError as error:
        return type(error).__name__
    if found is None:
        return "no effect"
    graph = found.graph
    above = {graph.names[one] for one in graph.ancestors(graph.names.index(hidden.child))}
    if hidden.parent in above:
        return "edge"
    assert not _matters(found.program, hidden), (
        f"seed {seed}: {hidden} passes\n{random_program(seed, hidden).text}"
    )
    return "vacuous"


def _matters(program: Program, hidden: Hidden) -> bool:
    """Whether any output that the parent has would change what the child finds on any input."""
    parent, child = map(program.registry.names.index, (hidden.parent, hidden.child))
    runs = {source: PlainRun(program, State(source)) for source in program.audit}
    found = {source: dict(zip(run.calls, run.values, strict=True)) for source, run in runs.items()}
    outputs = {values[parent] for values in found.values() if parent in values}
    for source, value in itertools.product(program.audit, outputs):
        run = PlainRun(program, State(source), Replacement(parent, value))
        after = dict(zip(run.calls, run.values, strict=True))
        if child in after and child in found[source] and after[child] != found[source][child]:
            return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    chosen = parser.parse_args()
    seeds = range(chosen.start, chosen.start + chosen.count)
    print("programs", dict(Counter(map(check, seeds))))
    told: dict[str, Counter[str]] = {route: Counter() for route in ROUTES}
    for seed in seeds:
        possible = mutants(seed)
        if possible:
            hidden = random.Random(seed).choice(possible)
            told[hidden.route][check_mutant(seed, hidden)] += 1
    for route, counts in told.items():
        print(f"mutants by {route}", dict(counts))


if __name__ == "__main__":
    main()
