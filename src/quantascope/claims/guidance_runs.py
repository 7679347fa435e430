"""A course: Q-models of one or more programs' traces, and Transformers that learn with or without one of them.

Every Q-model and every Transformer has a run directory of its own beside the course's, named after its config, so
that courses which hold the same run make it once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from quantascope.guidance.guide import GuidedRun, check_guidance, learn_guided
from quantascope.guidance.learner import GuidedLearner
from quantascope.qmodel.compiled.fit import CompiledLearner, CompiledRun, learn_compiled, program_task
from quantascope.runs.config import Config
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory

COURSES = "guidance"
"""Where claims keep the runs that they share."""


class Course(Config):
    """Teachers and students by name; a guided student's own teacher is trained whether it is named or not."""

    teachers: dict[str, CompiledLearner]
    students: dict[str, GuidedLearner]

    @property
    def steps(self) -> int:
        """Training steps in all."""
        return sum(one.training.steps for one in (*self.every_teacher, *self.students.values()))

    @property
    def every_teacher(self) -> tuple[CompiledLearner, ...]:
        """Each teacher that is needed, once."""
        guided = (student.teacher for student in self.students.values() if student.weight)
        return tuple(dict.fromkeys((*self.teachers.values(), *guided)))


@dataclass(frozen=True, eq=False)
class CourseRun:
    """What became of a course."""

    teachers: dict[str, CompiledRun]
    students: dict[str, GuidedRun]


def take_course(course: Course, path: Path, progress: Progress | None = None, *, device: str = "cpu") -> CourseRun:
    """Train, or take up, or just read all runs of a course; they stand beside `path`."""
    done = 0

    def noting(steps: int) -> Progress:
        nonlocal done
        before, done = done, done + steps

        def note(step: int, loss: float, acquired: int | None = None) -> None:
            if progress:
                progress(before + step, loss)

        return note

    run = RunDirectory.open(path, course)
    with run.locked():
        teachers = {
            teacher: learn_compiled(
                teacher, _beside(path, "teacher", teacher), noting(teacher.training.steps), device=device
            )
            for teacher in course.every_teacher
        }
        students = {
            name: learn_guided(
                student,
                _beside(path, "student", student),
                teachers.get(student.teacher) if student.weight else None,
                noting(student.training.steps),
                device=device,
            )
            for name, student in course.students.items()
        }
    return CourseRun({name: teachers[teacher] for name, teacher in course.teachers.items()}, students)


def check_course(course: Course) -> None:
    """Refuse a course that cannot be taken: a program that does not compile, a panel that is not there."""
    for one in (*course.every_teacher, *(student.teacher for student in course.students.values())):
        program_task(one.program).task.panel(one.trained_on)
    for student in course.students.values():
        check_guidance(student, program_task(student.teacher.program))


def seeded(course: Course, seed: int) -> Course:
    """The same course from another seed, of networks and teachers alike."""
    change = {"seed": seed}
    return Course(
        teachers={name: one.replace(change) for name, one in course.teachers.items()},
        students={name: one.replace({**change, "teacher.seed": seed}) for name, one in course.students.items()},
    )


def courses(course: Course, seeds: Iterable[int], label: str = "seed") -> dict[str, Course]:
    """The course from every seed, by label."""
    return {f"{label}-{seed}": seeded(course, seed) for seed in seeds}


def _beside(path: Path, kind: str, config: Config) -> Path:
    return path.parent / f"{kind}-{config.hash()[:12]}"
