"""Commands of the program pipeline."""

from pathlib import Path
from typing import Annotated

import tyro

from quantascope.cli.arguments import Changes, File, Folder, Number, ProgramName, parse_changes, print_json
from quantascope.cli.compute import ONE_PROCESS, ProcessFlags
from quantascope.report.text import say


def compile(
    program: tyro.conf.Positional[str],
    /,
    figure: File = None,
    json: bool = False,
) -> None:
    """Compile a program into a Q-graph: ordinary Python whose annotated subroutines become quanta.

    Args:
        program: FILE.py, FILE.py:entry, or a program that ships with quantascope: english, french, addition,
            roman, clock, inflection, mistaken_inflection:wrong, :steps or :incomplete.
        figure: Draw the graph into this file (png, svg or pdf); its folder must exist.
        json: Print quanta, edges and levels as JSON.
    """
    from quantascope.program import compile_program
    from quantascope.programs import find_program
    from quantascope.report.tables import print_program

    if figure is None:
        compiled = compile_program(find_program(program))
    else:
        from quantascope.report.graph_drawing import check_drawing, write_drawing

        check_drawing(figure)
        compiled = compile_program(find_program(program))
        write_drawing(compiled.graph, figure)
    if json:
        print_json(compiled.to_json())
    else:
        print_program(compiled)


def guide(
    out: Path,
    teacher: Folder = None,
    program: ProgramName = None,
    model: Annotated[str | None, tyro.conf.arg(metavar="FILE.py:NAME", help_behavior_hint="")] = None,
    config: File = None,
    set_: Changes = (),
    seed: Number = None,
    weak_teacher: bool = False,
    process: ProcessFlags = ONE_PROCESS,
    json: bool = False,
) -> None:
    """Train an ordinary network whose blocks follow a program's Q-model, which is then discarded.

    The network is OUT/model.safetensors, and a Hugging Face decoder also OUT/pretrained.

    Args:
        out: The run folder.
        teacher: A run of quantascope train compiled. Default: one is trained in OUT/teacher.
        program: FILE.py, FILE.py:entry, or a name as in quantascope compile (default: english, or the teacher's
            program). Name the teacher's program again if it is a file.
        model: Your own network: a function that takes the task and returns a ResidualModel, such as adapt(…) of a
            Hugging Face decoder. Default: quantascope's Transformer.
        config: JSON file with the settings that differ from the defaults.
        set_: Change settings, as in --set weight=0 model.blocks=5; weight=0 trains without guidance.
        seed: Seed of the network, and of the teacher that is trained here.
        weak_teacher: Warn instead of failing if the teacher answers less than 90 % of its own training inputs, or
            less than half of the other inputs of the program's audit domain.
        json: Print the outcome as JSON.
    """
    from quantascope.guidance.guide import guide as train_guided
    from quantascope.report.accuracy import guided_json, guided_text
    from quantascope.report.progress import one_run
    from quantascope.runs.run_directory import read_settings

    process.begin()
    done = train_guided(
        out,
        teacher=teacher,
        program=program,
        model=model,
        settings=read_settings(config),
        changes=parse_changes(set_),
        seed=seed,
        weak_teacher=weak_teacher,
        watch=one_run,
        device=process.chosen_device,
    )
    if json:
        print_json(guided_json(out, done))
    else:
        say(guided_text(out, done))
