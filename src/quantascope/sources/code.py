"""A source that reads Python: a GPT-NeoX on bytes, trained by `transformers.Trainer` on the standard library.

    RUN/checkpoints   checkpoints of quantascope's Trainer callback, with summed learning rates
    RUN/series        the same weights in the layout of Pythia, a folder stepN for each checkpoint
    RUN/data.json     the version of the library, with a digest of its files

Discovery reads RUN/checkpoints. RUN/series can be audited like any series: `quantascope audit RUN/series`.
"""

import importlib
import importlib.util
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import torch

from quantascope.models import predict
from quantascope.models.device import CPU, find_device
from quantascope.models.hugging_face import adapt, causal_lm_losses, layers_of, mlp_groups, model_of, read_weights
from quantascope.models.residual import ResidualModel
from quantascope.runs.artefact import write_record
from quantascope.runs.config import Config, Positive, PositiveFloat, Seed
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory, read_run
from quantascope.sources.data_record import check_data, keep_data
from quantascope.sources.losses import ModuleLosses
from quantascope.sources.source import Source
from quantascope.tasks.code.task import code_task
from quantascope.tasks.text import TextExample, TextTask
from quantascope.training import Trajectory
from quantascope.training.spacing import Spacing, interval_ends

CHECKPOINTS, SERIES, TRAINED = "checkpoints", "series", "trained.json"
MAKE = "quantascope train code --out RUN"


class CodeConfig(Config):
    """A GPT-NeoX on windows of bytes, and how the Trainer trains it: Adam with a warm-up and a cosine decay."""

    KIND: ClassVar[str] = "code source"

    blocks: Positive = 3
    width: Positive = 160
    heads: Positive = 4
    hidden: Positive = 640
    steps: Positive = 2000
    batch: Positive = 16
    learning_rate: PositiveFloat = 2e-3
    warmup: Positive = 100
    intervals: Positive = 40
    spacing: Spacing = "logarithmic"
    measured_on: str = "training_10"
    seed: Seed = 0

    @property
    def interval_steps(self) -> list[int]:
        """Steps at which checkpoints are saved."""
        return interval_ends(self.steps, self.intervals, self.spacing)


def check_code(config: CodeConfig) -> None:
    """Raise if the source cannot be trained: no Trainer, no library, or an unknown panel."""
    for package in ("transformers", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise InvalidConfig(f"{package} is not installed; pip install 'quantascope[transformers]' accelerate")
    if config.width % config.heads:
        raise InvalidConfig(f"width {config.width} is not divisible by heads = {config.heads}; choose one that is")
    code_task().panel(config.measured_on)


def train_code(
    config: CodeConfig, path: Path, progress: Progress | None = None, *, device: str | torch.device = CPU
) -> Source:
    """Train or load the source of this config at `path`; an interrupted training starts again."""
    where = find_device(device)
    if not (path / TRAINED).exists():
        check_code(config)
    task = code_task()

    def make(run: RunDirectory) -> None:
        keep_data(run, task)
        for folder in (CHECKPOINTS, SERIES):
            shutil.rmtree(path / folder, ignore_errors=True)
        _train(config, task, path, where, progress)
        write_record(path / TRAINED, {"steps": config.steps}, made_by=run.hash)

    RunDirectory.open(path, config).complete([TRAINED], make)
    return _source(config, path, task, where)


def read_code(path: Path, *, device: str | torch.device = CPU) -> Source:
    """The trained source in a run folder."""
    config = read_run(path).parse(CodeConfig, make=MAKE)
    if not (path / TRAINED).exists():
        raise DamagedArtefact(
            f"the training of {path} is not finished; quantascope train code --out {path} trains it from the start"
        )
    task = code_task()
    check_data(path, task)
    return _source(config, path, task, find_device(device))


def code_summary(source: Source) -> dict[str, Any]:
    """Bits per byte and accuracy on windows of modules that were not trained on."""
    seen = predict(source.model(), source.events("test"))
    bits = float(seen.nll.mean()) / math.log(2)
    return {"steps": source.steps[-1], "bits_per_byte": bits, "byte_accuracy": seen.token_accuracy}


def _source(config: CodeConfig, path: Path, task: TextTask, device: torch.device) -> Source:
    trajectory = Trajectory.open(path / CHECKPOINTS, reader=read_weights)
    module = model_of(trajectory.files[-1])
    decoder = adapt(module)

    def model_at(step: int) -> ResidualModel:
        return decoder.at(trajectory.at([step]).load(0))

    return Source(
        folder=path,
        identity=config.hash(),
        trajectory=trajectory.at(config.interval_steps),
        losses=ModuleLosses(module, causal_lm_losses),
        layers=layers_of(module),
        task=task,
        measured_on=config.measured_on,
        model_at=model_at,
        replay_steps=tuple(step for step in trajectory.steps.tolist() if step > 0),
        hidden_units=mlp_groups(module),
        device=device,
    )


def _train(
    config: CodeConfig, task: TextTask, path: Path, device: torch.device, progress: Progress | None
) -> None:
    transformers = importlib.import_module("transformers")
    torch.manual_seed(config.seed)
    shape = transformers.GPTNeoXConfig(
        vocab_size=len(task.vocabulary),
        hidden_size=config.width,
        num_hidden_layers=config.blocks,
        num_attention_heads=config.heads,
        intermediate_size=config.hidden,
        max_position_embeddings=task.positions,
        bos_token_id=0,
        eos_token_id=0,
    )
    settings = transformers.TrainingArguments(
        output_dir=str(path / SERIES),
        max_steps=config.steps,
        per_device_train_batch_size=config.batch,
        learning_rate=config.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=config.warmup,
        seed=config.seed,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=device.type == "cpu",
        dataloader_pin_memory=False,
    )
    callbacks = importlib.import_module("quantascope.training.callbacks")
    trainer = transformers.Trainer(
        transformers.GPTNeoXForCausalLM(shape),
        settings,
        _batched,
        list(task.panel("training")),
        processing_class=byte_tokenizer(task.vocabulary),
        callbacks=[
            callbacks.RecorderCallback(path / CHECKPOINTS, steps=config.interval_steps),
            _series_callback(path / SERIES, config.interval_steps, progress),
        ],
    )
    trainer.remove_callback(transformers.PrinterCallback)
    with _without_bars():
        trainer.train()


@contextmanager
def _without_bars() -> Iterator[None]:
    """Suppress the progress bar of saving."""
    logging = importlib.import_module("transformers.utils.logging")
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _batched(examples: list[TextExample]) -> dict[str, torch.Tensor]:
    """Windows as tensors; every byte but the first is predicted."""
    tokens = torch.tensor([(*one.prompt, *one.answer) for one in examples])
    return {"input_ids": tokens, "labels": tokens}


def byte_tokenizer(symbols: tuple[str, ...]) -> Any:
    """A Hugging Face tokenizer in which every byte is a token, numbered by its value."""
    tokenizers = importlib.import_module("tokenizers")
    transformers = importlib.import_module("transformers")
    model = tokenizers.models.BPE({symbol: byte for byte, symbol in enumerate(symbols)}, [])
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def _series_callback(folder: Path, steps: list[int], progress: Progress | None) -> Any:
    """Callback that saves the model in folders stepN, as Pythia does, and reports the progress."""
    transformers = importlib.import_module("transformers")

    class Series(transformers.TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            self.save(0, given)

        def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if progress:
                progress(state.global_step, math.nan)
            if state.global_step in steps:
                self.save(state.global_step, given)

        def save(self, step: int, given: dict[str, Any]) -> None:
            for one in (given["model"], given["processing_class"]):
                one.save_pretrained(folder / f"step{step}")

    return Series()
