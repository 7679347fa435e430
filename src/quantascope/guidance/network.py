"""The guided network: quantascope's Transformer, or a network in a user's file.

`FILE.py:NAME` names a function that takes the task and returns a `ResidualModel`, such as `adapt(…)` of a Hugging
Face decoder:

    def model(task):
        return adapt(GPT2LMHeadModel(GPT2Config(vocab_size=len(task.vocabulary), n_positions=task.positions, …)))

It is called after torch's seed is set, so that guided and unguided networks start from the same weights.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from quantascope.models import Transformer, TransformerConfig
from quantascope.models.drawing import Start
from quantascope.models.hugging_face import HuggingFaceDecoder, save_pretrained
from quantascope.models.residual import Execution, TrainableModel
from quantascope.models.saved import load_model, save_model
from quantascope.models.saved_transformer import load_transformer, save_transformer
from quantascope.program.source import split_entry
from quantascope.programs import find_task
from quantascope.runs.config import Config
from quantascope.runs.errors import InvalidConfig, RunMismatch
from quantascope.runs.files import file_digest
from quantascope.sources.user_file import call_named, load_name
from quantascope.tasks.events import Events
from quantascope.tasks.sequence import SequenceTask

MODEL, PRETRAINED, KEPT_MODEL = "model.safetensors", "pretrained", "model.py"
KIND = "own network"
_TOLERANCE = 1e-3
"""Tolerance relative to the largest logit: two computations of the same logits differ only by rounding."""
_DISTURBED = 0.1


class OwnNetwork(Config):
    """A network in a user's file, `FILE.py:NAME`, with the digest of the file's text."""

    file: str
    digest: str

    @classmethod
    def named(cls, where: str) -> "OwnNetwork":
        """The network at `FILE.py:NAME`, with the file's current digest."""
        file = Path(split_entry(where)[0])
        if not file.is_file():
            raise InvalidConfig(f"there is no file {file}; give FILE.py:NAME of a function that builds a network")
        return cls(file=where, digest=file_digest(file))


def build_network(
    config: TransformerConfig | OwnNetwork, task: SequenceTask, *, seed: int, start: Start | None = None
) -> TrainableModel:
    """The network before training, with the same weights with and without guidance.

    A Transformer is drawn from `start` if given, else from the seed.
    """
    if isinstance(config, TransformerConfig):
        drawn = seed if start is None else start
        return Transformer(vocabulary=len(task.vocabulary), positions=task.positions, config=config, seed=drawn)
    file = Path(split_entry(config.file)[0])
    if file.is_file() and file_digest(file) != config.digest:
        raise RunMismatch(f"{file} has changed since the config was made; restore it, or name it again")
    function = load_name(config.file, "a function that builds a network")
    if isinstance(function, nn.Module) or not callable(function):
        raise InvalidConfig(
            f"{config.file} is a {type(function).__name__}, which no seed reaches any more; write a function of "
            "the task that builds the network"
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = call_named(config.file, function, task)
    return _residual(config.file, model)


def _residual(where: str, model: Any) -> TrainableModel:
    if isinstance(model, nn.Module) and isinstance(model, TrainableModel):
        return model
    if isinstance(model, nn.Module) and hasattr(getattr(model, "config", None), "model_type"):
        raise InvalidConfig(f"{where} returns a {type(model).__name__}; return quantascope.adapt(…) of it")
    raise InvalidConfig(
        f"{where} returns a {type(model).__name__}, not a torch module with depth, width, run, resume and "
        "interface; write a ResidualModel (quantascope.models.residual), or adapt a Hugging Face decoder"
    )


@torch.no_grad()
def check_network(model: TrainableModel, events: Events, task: SequenceTask, where: str) -> None:
    """Raise if a user's network has blocks that do not add up to its logits, since guidance would be wrong.

    The checked copy is discarded. Its weights are perturbed, because an untrained norm does not change a
    normalized stream and would hide that the normalized stream was returned.
    """
    model.eval()
    draw = torch.Generator().manual_seed(0)
    for weight in model.parameters():
        weight.add_(_DISTURBED * torch.randn(weight.shape, generator=draw).to(weight))
    execution = cast(Execution, call_named(where, model.run, events))
    if execution.logits.shape[0] != events.count or execution.logits.shape[1] < len(task.vocabulary):
        raise InvalidConfig(
            f"{where} gives logits of shape {tuple(execution.logits.shape)} for {events.count} events of "
            f"{len(task.vocabulary)} tokens; give a row for each event and a column for each token"
        )
    tokens = len(events.rows)
    shapes = {tuple(update.shape) for update in (execution.stream, *execution.updates)}
    if len(execution.updates) != model.depth or shapes != {(tokens, model.width)}:
        raise InvalidConfig(
            f"{where} gives {len(execution.updates)} updates of shapes {sorted(shapes)}; give what each of its "
            f"{model.depth} blocks adds at every valid token, {(tokens, model.width)}"
        )
    stream = execution.stream + sum(execution.updates)
    again = call_named(where, lambda: model.resume(stream, events, block=model.depth))
    error = float((again - execution.logits).abs().max() / execution.logits.abs().max().clamp(min=1e-6))
    if not error <= _TOLERANCE:
        raise InvalidConfig(
            f"{where}: what its blocks add does not make its logits (they differ by {error:.1%}); let run() give "
            "the stream before the final norm, which Hugging Face's hidden_states[-1] is not"
        )


def save_network(path: Path, model: TrainableModel, task: SequenceTask, *, made_by: str) -> None:
    """Save the weights in a run; a Hugging Face decoder is also saved in the format of transformers."""
    if isinstance(model, Transformer):
        save_transformer(path / MODEL, model, task.vocabulary, made_by=made_by)
        return
    if isinstance(model, HuggingFaceDecoder):
        save_pretrained(model.module, path / PRETRAINED)
    about = {"vocabulary": list(task.vocabulary), "positions": task.positions}
    save_model(path / MODEL, cast(nn.Module, model), kind=KIND, about=about, made_by=made_by)


def load_network(
    path: Path, config: TransformerConfig | OwnNetwork, program: str, *, made_by: str
) -> TrainableModel:
    """Load the trained network of a run; a user's network is built again for the task of its program."""
    if isinstance(config, TransformerConfig):
        return load_transformer(path / MODEL, made_by=made_by)[0]

    def build(about: Mapping[str, Any]) -> nn.Module:
        return cast(nn.Module, build_network(config, find_task(program), seed=0))

    model, _ = load_model(path / MODEL, build, kind=KIND, make="quantascope guide", made_by=made_by)
    return cast(TrainableModel, model)
