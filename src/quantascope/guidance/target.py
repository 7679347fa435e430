"""The lessons of a learner: training events with a Q-model's level sums, as controls, or with prompts.

Training events follow the task's answers. If the program writes another answer, its Q-model still runs along the
task's answer and gives the program's next token.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from quantascope.guidance.alignment import Guidance, level_scale, level_sums
from quantascope.guidance.learner import GuidedLearner
from quantascope.guidance.lesson import Lesson
from quantascope.models import ResidualModel, decode
from quantascope.qmodel import CompiledQModel
from quantascope.qmodel.compiled.fit import CompiledRun
from quantascope.qmodel.compiled.program_task import ProgramTask
from quantascope.runs.errors import InvalidConfig, RunMismatch
from quantascope.tasks.events import PAD, Events


def lessons_of(
    config: GuidedLearner, teacher: CompiledRun | None, taught: ProgramTask, model: ResidualModel
) -> list[Lesson]:
    """Yield the lesson of each step: the training events, with different prompts each time if there are any."""
    asked = taught.events(config.panel)
    if not config.weight:
        return [Lesson.of(asked)]
    if teacher is None or teacher.config != config.teacher:
        raise RunMismatch("the teacher was trained with another config; train it again or give its own run")
    if config.only_right:
        guidance, numbers = guidance_of(config, teacher, taught, model), right_events(config, taught, asked)
        return [Lesson(asked, asked.count, guidance.at(numbers), numbers)]
    if config.prompts is None:
        return [Lesson.of(asked, guidance_of(config, teacher, taught, model))]
    spoken, learned = greedy_events(teacher.model, taught, config.prompts), len(asked)
    parts = [asked.joined(spoken[first : first + learned]) for first in range(0, len(spoken), learned)]
    own = level_sums(teacher.model, asked)
    targets = [level_sums(teacher.model, events) for events in parts]
    return [
        Lesson(events, asked.count, guide_by(config, levels, own, model))
        for events, levels in zip(parts, targets, strict=True)
    ]


def check_target(config: GuidedLearner, taught: ProgramTask, model: ResidualModel) -> None:
    """Raise if levels do not fit the blocks or a panel does not exist, before any training."""
    if config.weight:
        levels = torch.zeros(2, 1 + max(taught.compiled.graph.levels), config.teacher.model.width)
        _controlled(config, guide_by(config, levels, levels, model), torch.zeros(2, dtype=torch.long))
    if config.prompts:
        taught.task.panel(config.prompts)
    if config.routing == "oracle" and taught.task.exceptions:
        raise InvalidConfig(
            "the program does not route along answers that it does not write; set routing=predicted, as this task "
            "has exceptions"
        )
    if config.only_right:
        right_events(config, taught, taught.events(config.panel))


def greedy_events(model: CompiledQModel, taught: ProgramTask, panel: str) -> Events:
    """The prompts of a panel with the Q-model's own answers, without answers that do not end."""
    task = taught.task
    prompts = task.prompts(task.panel(panel))
    end = task.token[taught.compiled.program.end]
    limit = task.positions - max(map(len, prompts)) + 1
    answers = decode(model, prompts, end=end, limit=limit, padding=PAD)
    ended = [row for row, answer in enumerate(answers) if answer[-1] == end]
    if not ended:
        raise InvalidConfig(f"the teacher ends none of its answers to panel '{panel}'; train it longer")
    return Events.of([prompts[row] for row in ended], [answers[row] for row in ended])


def guidance_of(
    config: GuidedLearner, teacher: CompiledRun, taught: ProgramTask, model: ResidualModel
) -> Guidance:
    """The target of the training events, shuffled if there is a control."""
    panel = config.panel
    events = taught.events(panel)
    routing = taught.supervision(panel).active.float() if config.routing == "oracle" else None
    levels = level_sums(teacher.model, events, routing)
    return _controlled(config, guide_by(config, levels, levels, model), events.target)


def right_events(config: GuidedLearner, taught: ProgramTask, asked: Events) -> Int[Tensor, " right"]:
    """The indices of training events on inputs that the program answers as the task does."""
    right = taught.right(config.panel)
    if not any(right):
        raise InvalidConfig(
            f"the program answers no input of panel '{config.panel}' as its task does, and only_right "
            "leaves nothing to guide; fix the program, or guide without it"
        )
    return torch.tensor(right, device=asked.example.device)[asked.example].nonzero().squeeze(1)


def guide_by(config: GuidedLearner, levels: Tensor, own: Tensor, model: ResidualModel) -> Guidance:
    """The guidance of a model by level sums with the config's settings, scaled by the training events."""
    return Guidance.of(
        levels if config.target_norm is None else levels * level_scale(own, config.target_norm),
        blocks=model.depth,
        width=model.width,
        level_to_block=config.level_to_block,
        window=config.window,
        weight=config.weight,
        seed=config.seed,
    )


def _controlled(config: GuidedLearner, guidance: Guidance, words: Int[Tensor, " events"]) -> Guidance:
    match config.control:
        case "none":
            return guidance
        case "depth":
            return guidance.shuffled_over_depth(seed=config.seed)
        case "examples":
            return guidance.shuffled_over_events(seed=config.seed)
        case "word":
            return guidance.shuffled_over_events(seed=config.seed, groups=words)
