"""Guidance runs: Q-models of one or more programs' traces, and Transformers that learn with or without one.

Every Q-model and every Transformer has a run directory of its own, named after its config, so that claims which
need the same run make it once.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from quantascope.claims.claim import Claim
from quantascope.claims.result import Estimate
from quantascope.guidance.guide import GuidedRun, check_guidance, learn_guided
from quantascope.guidance.learner import GuidedLearner
from quantascope.qmodel.compiled.fit import CompiledLearner, CompiledRun, learn_compiled, program_task
from quantascope.runs.config import Config
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory

GUIDANCE = "guidance"
"""Folder of runs that claims share."""


class GuidanceRuns(Config):
    """Teachers and students by name; a guided student's teacher is trained even if it is not named."""

    KIND: ClassVar[str] = "Course"

    teachers: dict[str, CompiledLearner]
    students: dict[str, GuidedLearner]

    @property
    def steps(self) -> int:
        """Total number of training steps."""
        return sum(one.training.steps for one in (*self.every_teacher, *self.students.values()))

    @property
    def every_teacher(self) -> tuple[CompiledLearner, ...]:
        """The distinct teachers that are needed."""
        guided = (student.teacher for student in self.students.values() if student.weight)
        return tuple(dict.fromkeys((*self.teachers.values(), *guided)))


@dataclass(frozen=True, eq=False)
class GuidanceOutcome:
    """The trained teachers and students by name."""

    teachers: dict[str, CompiledRun]
    students: dict[str, GuidedRun]


def learn_guidance_runs(
    wanted: GuidanceRuns, path: Path, progress: Progress | None = None, *, device: str = "cpu"
) -> GuidanceOutcome:
    """Train, resume or load all runs; their folders are beside `path`."""
    done = 0

    def noting(steps: int) -> Progress:
        nonlocal done
        before, done = done, done + steps

        def note(step: int, loss: float, acquired: int | None = None) -> None:
            if progress:
                progress(before + step, loss)

        return note

    run = RunDirectory.open(path, wanted)
    with run.locked():
        teachers = {
            teacher: learn_compiled(
                teacher, _beside(path, "teacher", teacher), noting(teacher.training.steps), device=device
            )
            for teacher in wanted.every_teacher
        }
        students = {
            name: learn_guided(
                student,
                _beside(path, "student", student),
                teachers.get(student.teacher) if student.weight else None,
                noting(student.training.steps),
                device=device,
            )
            for name, student in wanted.students.items()
        }
    return GuidanceOutcome({name: teachers[teacher] for name, teacher in wanted.teachers.items()}, students)


def check_guidance_runs(wanted: GuidanceRuns) -> None:
    """Raise if a program does not compile or a panel does not exist."""
    for one in (*wanted.every_teacher, *(student.teacher for student in wanted.students.values())):
        program_task(one.program).task.panel(one.trained_on)
    for student in wanted.students.values():
        check_guidance(student, program_task(student.teacher.program))


def seeded(wanted: GuidanceRuns, seed: int) -> GuidanceRuns:
    """The runs with another seed for networks and teachers."""
    change = {"seed": seed}
    return GuidanceRuns(
        teachers={name: one.replace(change) for name, one in wanted.teachers.items()},
        students={name: one.replace({**change, "teacher.seed": seed}) for name, one in wanted.students.items()},
    )


def by_seed(wanted: GuidanceRuns, seeds: Iterable[int], label: str = "seed") -> dict[str, GuidanceRuns]:
    """The runs from every seed, by label."""
    return {f"{label}-{seed}": seeded(wanted, seed) for seed in seeds}


def guidance_claim(
    *,
    name: str,
    says: str,
    presets: Mapping[str, Any],
    runs: Callable[[Any], Mapping[str, GuidanceRuns]],
    measure: Callable[[Any, Mapping[str, GuidanceOutcome]], Mapping[str, Estimate]],
    summary: Callable[[Mapping[str, Estimate]], Mapping[str, Estimate]] | None = None,
) -> Claim:
    """A claim about Q-models of programs and the Transformers that they guide."""
    return Claim(
        name=name,
        says=says,
        presets=presets,
        runs=runs,
        prepare=check_guidance_runs,
        work=learn_guidance_runs,
        steps=lambda wanted: wanted.steps,
        measure=measure,
        summary=summary,
        shares=GUIDANCE,
    )


def _beside(path: Path, kind: str, config: Config) -> Path:
    return path.parent / f"{kind}-{config.hash()[:12]}"
