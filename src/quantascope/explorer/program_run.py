"""`ProgramRun`: the compiled Q-model of a program, and the program itself as text.

Opening a run never executes its contents: its program runs only if it ships with quantascope, or if it was named
and is identical to the one saved in the run.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from quantascope.explorer.shown_run import THERE, Availability, ShownRun, trouble
from quantascope.program.declared import Declared, declared_quanta
from quantascope.programs import find_task, is_built_in, program_text
from quantascope.qmodel.compiled.fit import KEPT_PROGRAM, KNOWLEDGE, MODEL, RESULT, CompiledLearner
from quantascope.qmodel.compiled.knowledge import Knowledge
from quantascope.qmodel.compiled.model import CompiledQModel
from quantascope.qmodel.compiled.program_task import ProgramTask, program_task
from quantascope.qmodel.compiled.saved import load_qmodel
from quantascope.runs.accuracy import read_accuracy
from quantascope.runs.artefact import read_tensors
from quantascope.runs.errors import RunMismatch
from quantascope.runs.files import opened
from quantascope.runs.run_directory import read_run
from quantascope.sources.user_file import check_named
from quantascope.tasks.sequence import SequenceTask


@dataclass(frozen=True, kw_only=True, eq=False)
class ProgramRun(ShownRun):
    """A run of `train compiled`; `program` is the location of its program, if the user gave one."""

    program: str | None = None

    kind: ClassVar[str] = "compiled"

    @property
    def config(self) -> CompiledLearner:
        """The config of the run."""
        return read_run(Path(self.where)).parse(CompiledLearner, make="quantascope train compiled")

    @property
    def model(self) -> CompiledQModel:
        """The Q-model with its graph."""
        file, made_by = self.folder / MODEL, self.config.hash()
        return self.kept.get("model", lambda: load_qmodel(file, made_by=made_by)[0].eval(), files=[file])

    @property
    def accuracy(self) -> dict[str, float]:
        """Its accuracies."""
        return read_accuracy(self.folder / RESULT, made_by=self.config.hash())

    @property
    def knowledge(self) -> dict[str, float] | None:
        """How well it has learned its program; None for older runs."""
        if not (self.folder / KNOWLEDGE).exists():
            return None
        known = Knowledge.load(self.folder / KNOWLEDGE, made_by=self.config.hash())
        return known.model_dump(mode="json", exclude_none=True)

    @property
    def declared(self) -> dict[str, Declared]:
        """The quanta in the program's text, which is parsed but not executed."""
        program = self.config.program
        if is_built_in(program):
            return declared_quanta(program_text(program))
        file = self.folder / KEPT_PROGRAM
        with opened(file) as kept:
            return declared_quanta(kept.read().decode(errors="replace"))

    @property
    def allowed(self) -> str:
        """The location of the program; raises unless it may run."""
        file = self.folder / KEPT_PROGRAM
        return check_named(file, self.config.program, self.program, option="--program")

    @property
    def task(self) -> SequenceTask:
        """The task of the program."""
        return find_task(self.allowed)

    @property
    def taught(self) -> ProgramTask:
        """The compiled program (cached; takes seconds)."""
        named = self.allowed
        taught = program_task(named)
        if taught.compiled.graph.names != self.model.graph.names:
            raise RunMismatch(f"{named} has different quanta from the Q-model in {self.where}; train it again")
        return taught

    @property
    def may_run(self) -> bool:
        """Whether the program may be executed."""
        return trouble(lambda: self.allowed) is None

    def look(self) -> tuple[dict[str, Availability], list[str]]:
        """The program view, or the damaged files."""
        damage = trouble(lambda: read_tensors(self.folder / MODEL, made_by=self.config.hash()))
        found = Availability(damage) if damage else THERE
        others = (trouble(lambda: self.accuracy), trouble(lambda: self.knowledge), trouble(lambda: self.declared))
        damaged = [one for one in (damage, *others) if one]
        return {"program": found}, damaged
