"""The compiler: ordinary Python with annotated subroutines becomes a frozen Q-graph (section 5.3 of the paper).

validate     the registry, the entry, the audit domain
execute      the audit domain on traced values: data and control dependencies, one emitter per event
repeat       the audit domain on plain values, in reverse: the same again
check        downward closure, no choice that outlives its guard, stable parents, no dead quantum, a path to the
             token, cardinality, an effect of each
order        the union of all dependencies, its transitive reduction, its levels
intervene    outputs are replaced: only descendants change
afresh       quanta alone and events in a process that has not run the program, and in one with another hash seed:
             the same again
freeze       what any other domain is traced against
"""

import time

from quantascope.program.frozen import CompiledProgram
from quantascope.program.passes.afresh import Sample, check_afresh
from quantascope.program.passes.cardinality import bounded_outcomes
from quantascope.program.passes.connection import check_closure, check_connection
from quantascope.program.passes.effects import witnessed_effects
from quantascope.program.passes.execute import execute
from quantascope.program.passes.execution_paths import check_execution_paths, passed_guards
from quantascope.program.passes.interventions import check_interventions
from quantascope.program.passes.order import dependency_graph
from quantascope.program.passes.repeat import repeat
from quantascope.program.passes.signatures import stable_signatures
from quantascope.program.passes.validate import validate
from quantascope.program.recipes import Recipes
from quantascope.program.registry import Program
from quantascope.program.second_process import check_elsewhere
from quantascope.program.time_limit import Watch, run_program


def compile_program(program: Program) -> CompiledProgram:
    """Compile a program on its audit domain, or raise a violation; the program runs in separate processes."""
    since = time.time_ns()
    compiled, sample = run_program(program, program.audit, lambda watch: _compiled(program, watch))
    run_program(program, program.audit, lambda watch: check_afresh(program, sample, watch.at, since), quiet=True)
    check_elsewhere(program, sample)
    return compiled


def _compiled(program: Program, watch: Watch) -> tuple[CompiledProgram, Sample]:
    declaration = validate(program)
    recipes = Recipes()
    observed = execute(declaration, recipes, watch)
    repeat(declaration, observed, watch)
    watch.next_pass()
    check_closure(observed.names, observed.activations)
    check_execution_paths(program, recipes, observed.execution_paths)
    signatures = stable_signatures(observed)
    check_connection(observed.names, observed.activations)
    outcomes = bounded_outcomes(program.registry.quanta, observed, recipes)
    effects = witnessed_effects(declaration, observed, watch)
    dependencies = dependency_graph(observed, signatures)
    passed = passed_guards(observed.execution_paths, len(observed.names))
    check_interventions(declaration, observed, dependencies, passed, watch)
    compiled = CompiledProgram(
        program=program,
        graph=dependencies.hasse,
        dependencies=dependencies,
        passed=passed,
        signatures=signatures,
        execution_paths=tuple(observed.execution_paths.values()),
        outcomes=outcomes,
        effects=effects,
        audited=len(observed.events),
    )
    return compiled, Sample.of(observed, watch.can_send)
