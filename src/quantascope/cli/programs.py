"""Commands of the program pipeline."""

from pathlib import Path

import tyro

from quantascope.cli.arguments import Changes, File, Folder, Number, ProgramName, parse_changes, print_json
from quantascope.report.text import shown
from quantascope.runs.errors import InvalidConfig


def compile(
    program: tyro.conf.Positional[str],
    /,
    figure: File = None,
    json: bool = False,
) -> None:
    """Compile a program into a Q-graph: ordinary Python whose annotated subroutines become quanta.

    Args:
        program: FILE.py or FILE.py:entry, or one that comes with quantascope: english, french, addition, roman,
            clock.
        figure: Draw the graph into this file (png, svg or pdf).
        json: Print quanta, edges and levels as JSON.
    """
    from quantascope.program import compile_program
    from quantascope.programs import find_program
    from quantascope.report.graph_drawing import write_drawing
    from quantascope.report.tables import print_program

    compiled = compile_program(find_program(program))
    if figure:
        write_drawing(compiled.graph, figure)
    if json:
        print_json(compiled.to_json())
    else:
        print_program(compiled)


def guide(
    out: Path,
    teacher: Folder = None,
    program: ProgramName = None,
    config: File = None,
    set_: Changes = (),
    seed: Number = None,
    threads: int = 1,
    json: bool = False,
) -> None:
    """Train an ordinary Transformer whose blocks follow a program's Q-model; the Q-model is gone afterwards.

    The Transformer is OUT/model.safetensors.

    Args:
        out: The run directory.
        teacher: A run of quantascope train compiled; if not given, one is trained in OUT/teacher.
        program: The program, if no teacher is given: FILE.py, FILE.py:entry, or a name as in quantascope compile
            (default: english).
        config: JSON file with settings that differ from the default.
        set_: Change settings, as in --set weight=0 model.blocks=5; weight 0 is training without guidance.
        seed: Seed of the Transformer, and of the teacher that is trained here.
        threads: Threads to use.
        json: Print the outcome as JSON.
    """
    from quantascope.guidance.guide import GuidedLearner, check_guidance, is_guided, learn_guided
    from quantascope.qmodel.compiled.fit import check_program_task, learn_compiled, read_compiled
    from quantascope.report.progress import one_run
    from quantascope.runs.engine import use_threads
    from quantascope.runs.run_directory import RunDirectory, read_settings

    use_threads(threads)
    if teacher and program:
        raise InvalidConfig(f"--program {program} has no effect beside the teacher in {teacher}; give either")
    learner = GuidedLearner.parse(read_settings(config))
    taught = read_compiled(teacher) if teacher else None
    settings = {"seed": learner.seed if seed is None else seed}
    asked = {"program": program} if program else {}
    lesson = taught.config if taught else learner.teacher.replace({**asked, **settings})
    learner = learner.replace({**settings, "teacher": lesson.model_dump(mode="json"), **parse_changes(set_)})
    if not is_guided(out):
        check_program_task(learner.teacher)
        check_guidance(learner)
    RunDirectory.open(out, learner)
    if learner.weight and taught is None:
        with one_run(f"{out.name}/teacher", learner.teacher.training.steps) as progress:
            taught = learn_compiled(learner.teacher, out / "teacher", progress)
    with one_run(out.name, learner.training.steps) as progress:
        done = learn_guided(learner, out, taught, progress)
    if json:
        print_json({"run": str(out), **done.accuracy})
    else:
        print(accuracy_lines(out, done.accuracy, learner.teacher.program, learner.teacher.trained_on))


def accuracy_lines(out: Path, accuracy: dict[str, float], program: str, learned: str) -> str:
    from quantascope.qmodel.compiled.program_task import program_task

    task = program_task(program).task
    notes = [
        f"note  {known:,} of the {len(task.panel(panel)):,} inputs of {panel} were trained on"
        for panel in task.reported
        if (known := task.in_both(panel, learned))
    ]
    return shown(
        "\n".join([*(f"{name:32} {value:.1%}" for name, value in accuracy.items()), *notes, f"run  {out}"])
    )
