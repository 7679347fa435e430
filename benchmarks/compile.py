"""Events per second of compiling and tracing the English number-naming program, and how they grow.

Compilation audits 4,396 numbers; tracing runs the 16,384 numbers of the balanced evaluation, 122,575 events,
cold and warm. Growth is the time of 2, 4, 8 … times as many numbers. Seconds are of CPU time. `--all` traces all
999,999 numbers in English and in French and compares every name: with the task's oracle, and with num2words.
"""

import argparse
import dataclasses
import json
import resource
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from num2words import num2words

from quantascope.program import CompiledProgram, compile_program
from quantascope.programs import find_program
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
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    compiled, found = measure()
    if chosen.all:
        found.append(name_all("english", compiled))
        found.append(name_all("french", compile_program(find_program("french"))))
    if chosen.json:
        print(json.dumps([{**asdict(one), "events_per_second": one.rate} for one in found], indent=2))
        return
    print("stage                events   seconds  asked  events/s")
    for one in found:
        asked = "" if one.asked is None else f"{one.asked:g}"
        print(f"{one.stage:18} {one.events:9,} {one.seconds:8.2f} {asked:>6} {one.rate:10,.0f}")


if __name__ == "__main__":
    main()
