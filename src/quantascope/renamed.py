"""Modules of version 0.1 that have another name now: importing one says what to import instead."""

import importlib.util
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NoReturn

RENAMED = {
    "artefact": "runs.artefact",
    "config": "runs.config",
    "engine": "runs.engine",
    "errors": "runs.errors",
    "experiments": "claims",
    "experiments.acquisition_order": "claims.ordering",
    "experiments.cohort_learner": "acquisition.learner",
    "experiments.compiled_learner": "qmodel.compiled.fit",
    "experiments.course": "claims.guidance_runs",
    "experiments.discovery": "discovery.discover",
    "experiments.explanation": "semantics.explain",
    "experiments.fidelity": "qmodel.recovered.fidelity",
    "experiments.guidance_data": "claims.guidance_data_efficiency",
    "experiments.guidance_programs": "claims.guidance_other_programs",
    "experiments.guided_learner": "guidance.guide",
    "experiments.hsp_learner": "acquisition.learner",
    "experiments.lesson": "qmodel.compiled.program_task",
    "experiments.naming_source": "sources.trained",
    "experiments.recovered_learner": "qmodel.recovered.fit",
    "experiments.source_audit": "discovery.audit",
    "experiments.trace": "qmodel.recovered.trace",
    "graph": "quanta.graph",
    "interruption": "runs.interruption",
    "labels": "quanta.labels",
    "models.deployed": "models.saved",
    "priority": "discovery",
    "priority.baselines": "discovery.nulls.baselines",
    "priority.discreteness": "discovery.nulls.discreteness",
    "priority.hugging_face": "models.hugging_face",
    "priority.losses": "sources.losses",
    "priority.packets": "discovery.nulls.packets",
    "priority.stability": "discovery.recurrence",
    "priority.surrogate": "discovery.nulls.surrogate",
    "program.passes.courses": "program.passes.execution_paths",
    "program.patience": "program.time_limit",
    "program.replay": "program.execution_cache",
    "program.rerun": "program.plain_run",
    "properties": "quanta.properties",
    "provenance": "runs.provenance",
    "qmodel.channels": "qmodel.recovered.channels",
    "qmodel.deployed": "qmodel.recovered.saved",
    "qmodel.interventions": "qmodel.recovered.interventions",
    "qmodel.recovery": "qmodel.recovered.loss",
    "qmodel.rows": "qmodel.recovered.rows",
    "qmodel.stored": "qmodel.compiled.saved",
    "qmodel.supervision": "qmodel.compiled.supervision",
    "qmodel.surgery": "qmodel.recovered.surgery",
    "report.figures": "claims.figures",
    "report.figures.acquisition_order": "claims.figures.ordering",
    "report.figures.guidance_data": "claims.figures.guidance_data_efficiency",
    "report.figures.guidance_programs": "claims.figures.guidance_other_programs",
    "report.scoreboard": "claims.scoreboard",
    "run": "runs.run_directory",
    "sweep": "runs.sweep",
}
"""Names within quantascope; a module that is not listed moved with the package that holds it."""


def new_name(old: str) -> str | None:
    """What a module of version 0.1 is called now, both within quantascope; none if it has no successor."""
    package, within = old, ""
    while package and package not in RENAMED:
        package, _, last = package.rpartition(".")
        within = f".{last}{within}"
    if not package:
        return None
    new = RENAMED[package] + within
    try:
        return new if importlib.util.find_spec(f"quantascope.{new}") else None
    except ModuleNotFoundError:
        return None


def refusal(old: str, new: str) -> str:
    """What is said to those who ask for an old name."""
    return f"quantascope.{old} is quantascope.{new} since version 0.2"


class RenamedFinder:
    """The last finder of modules: what no other found, and was once here, is refused with its new name."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """An empty package where there was one, so that its modules are asked for by name; refuses modules."""
        package, _, old = name.partition(".")
        new = new_name(old) if package == "quantascope" else None
        if new is None:
            return None
        if any(known.startswith(f"{old}.") for known in RENAMED):
            return ModuleSpec(name, EmptyPackage(), is_package=True)
        # Not `ModuleNotFoundError`, which `from … import` would swallow.
        raise ImportError(refusal(old, new), name=name)


class EmptyPackage(Loader):
    """Loads a package that was once here: whatever is taken from it is refused with its new name."""

    def exec_module(self, module: ModuleType) -> None:
        """Let the package refuse every name."""
        old = module.__name__.partition(".")[2]

        def refuse(name: str) -> NoReturn:
            if name.startswith("__"):
                raise AttributeError(name)
            within = f"{old}.{name}"
            new = new_name(within)
            raise ImportError(refusal(within, new) if new else refusal(old, RENAMED[old]), name=module.__name__)

        module.__dict__["__getattr__"] = refuse
