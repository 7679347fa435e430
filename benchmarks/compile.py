"""Events per second of compiling and tracing the English number-naming program, and how they grow.

Compilation audits 4,396 numbers; tracing runs the 16,384 numbers of the balanced evaluation, 122,575 events,
cold and warm. Growth is the time of 2, 4, 8 … times as many numbers. A lookup in tables of 200 and 20,000 entries
and vocabularies of 1,000 and 100,000 tokens must not differ much. Seconds are of CPU time. `--all` traces all
999,999 numbers in English and in French and compares every name: with the task's oracle, and with num2words.
`--beside SRC` compiles English in turns here and by the sources of another checkout, and shows the ratio.
"""

import argparse
import dataclasses
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from num2words import num2words

from quantascope.program import CompiledProgram, Program, Registry, compile_program, lift
from quantascope.programs import find_program
from quantascope.runs.artefact import write_json
from quantascope.runs.provenance import made_with
from quantascope.tasks.number_naming import LARGEST, PANELS, number_name

ASKED_SECONDS = {"compile": 10.0, "trace": 30.0}


@dataclass(frozen=True)
class Measurement:
    """Seconds of one stage, its events, and the seconds asked for if any."""

    stage: str
    events: int
    seconds: float
    asked: float | None = None

    @property
    def rate(self) -> float:
        """Events per second."""
        return self.events / self.seconds


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = cpu_seconds()
    return work(), cpu_seconds() - began


def cpu_seconds() -> float:
    """CPU time of this process and of the children in which programs run."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure() -> tuple[CompiledProgram, list[Measurement]]:
    """Compile, trace the evaluation cold and warm, and trace growing parts of it cold."""
    program, numbers = find_program("english"), PANELS["balanced"]()
    compiled, seconds = timed(lambda: compile_program(program))
    found = [Measurement("compile", compiled.audited, seconds, ASKED_SECONDS["compile"])]
    for stage, asked in (("trace", ASKED_SECONDS["trace"]), ("trace again", None)):
        trace, seconds = timed(lambda: compiled.trace(numbers))
        found.append(Measurement(stage, len(trace), seconds, asked))
    for share in (16, 8, 4, 2, 1):
        fresh = dataclasses.replace(compiled)  # remembers no execution
        trace, seconds = timed(lambda fresh=fresh, share=share: fresh.trace(numbers[::share]))
        found.append(Measurement(f"trace 1/{share}, cold", len(trace), seconds))
    return compiled, found


def table_lookup(entries: int, tokens: int = 10) -> Program:
    """A program that looks each of 4,000 numbers up in a table between quanta, with so many tokens."""
    table = {number: number % 10 for number in range(entries)}
    registry = Registry()
    key = registry.quantum("KEY", output_cardinality=entries)(lambda number: number % entries)
    digit = registry.quantum("DIGIT", output_cardinality=11)(
        lambda found, position: "." if position else str(found)
    )
    vocabulary = [*map(str, range(tokens)), "."]
    entry = registry.entry(audit=range(4000), vocabulary=vocabulary, end=".")
    return entry(lambda state: digit(lift(table.get, key(state.source)), state.position))


def measure_size() -> list[Measurement]:
    """Compile with small and large tables and vocabularies."""
    sizes = [(f"table of {entries:,}", (entries, 10)) for entries in (200, 20_000)]
    sizes += [(f"{tokens:,} tokens", (200, tokens)) for tokens in (1000, 100_000)]
    found = []
    for stage, size in sizes:
        program = table_lookup(*size)
        compiled, seconds = timed(lambda program=program: compile_program(program))
        found.append(Measurement(stage, compiled.audited, seconds))
    return found


def compare(sources: str, rounds: int = 3) -> None:
    """Compile English in turns by these sources and by others."""
    command = [sys.executable, __file__, "--compile-only"]
    own = os.pathsep.join(filter(None, sys.path[1:]))
    seconds: dict[str, list[float]] = {"other": [], "here": []}
    for _ in range(rounds):
        for name, path in (("other", sources), ("here", own)):
            done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, check=True)
            seconds[name].append(float(done.stdout))
    other, here = map(statistics.median, seconds.values())
    print(
        f"compile english: {here:.2f} s here, {other:.2f} s there, ratio {here / other:.2f} (medians of {rounds})"
    )


def french_name(number: int) -> tuple[str, ...]:
    return tuple(num2words(number, lang="fr").replace("-", " ").split())


NAMES: dict[str, Callable[[int], tuple[str, ...]]] = {"english": number_name, "french": french_name}


def name_all(language: str, compiled: CompiledProgram) -> Measurement:
    """Trace every number and compare every name."""
    trace, seconds = timed(lambda: compiled.trace(range(1, LARGEST + 1)))
    for number, words in zip(trace.inputs, trace.written(), strict=True):
        assert words[:-1] == NAMES[language](number), number
    print(f"all {LARGEST:,} {language} names are right, by {len(set(trace.row.tolist())):,} distinct executions")
    return Measurement(f"trace all {language}", len(trace), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--json", type=Path, help="where to write the outcome")
    parser.add_argument("--beside", metavar="SRC")
    parser.add_argument("--compile-only", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.compile_only:
        program = find_program("english")
        print(timed(lambda: compile_program(program))[1])
        return
    if chosen.beside:
        compare(chosen.beside)
        return
    compiled, found = measure()
    found += measure_size()
    if chosen.all:
        found.append(name_all("english", compiled))
        found.append(name_all("french", compile_program(find_program("french"))))
    if chosen.json:
        stages = [{**asdict(one), "events_per_second": one.rate} for one in found]
        write_json(chosen.json, {"measured": stages, "made_with": made_with()})
    print("stage                events   seconds  asked  events/s")
    for one in found:
        asked = "" if one.asked is None else f"{one.asked:g}"
        print(f"{one.stage:18} {one.events:9,} {one.seconds:8.2f} {asked:>6} {one.rate:10,.0f}")


if __name__ == "__main__":
    main()
