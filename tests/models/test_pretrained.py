"""Checkpoints of Hugging Face: read from their files as transformers reads them, or refused in one line."""

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

from quantascope.discovery import priority_field
from quantascope.models.hugging_face import (
    adapt,
    causal_lm_losses,
    layers_of,
    load_pretrained,
    pretrained,
    read_weights,
)
from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.sources.losses import ModuleLosses
from quantascope.tasks.events import Events
from quantascope.training.trajectory import Trajectory

transformers = pytest.importorskip("transformers")

EVENTS = Events.of(prompts=[[1, 0, 2], [3]], outputs=[[4, 0], [5]])
SHAPE = {
    "vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 24, "max_position_embeddings": 12,
}  # fmt: skip
CONFIGS = {
    "gpt2": ("GPT2Config", {"vocab_size": 20, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 12}),
    "gpt_neox": ("GPTNeoXConfig", SHAPE),
    "llama": ("LlamaConfig", {**SHAPE, "num_key_value_heads": 1}),
    "qwen2 tied": ("Qwen2Config", {**SHAPE, "num_key_value_heads": 2, "tie_word_embeddings": True}),
    # A type without an adapter, whose files need nothing but the model's own names.
    "opt": (
        "OPTConfig",
        {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "ffn_dim": 8,
         "word_embed_proj_dim": 16, "max_position_embeddings": 12},
    ),
}  # fmt: skip
NO_TOKENS = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


def saved(case: str, folder: Path, seed: int = 0, **how) -> torch.nn.Module:
    name, shape = CONFIGS[case]
    torch.manual_seed(seed)
    module = transformers.AutoModelForCausalLM.from_config(getattr(transformers, name)(**{**NO_TOKENS, **shape}))
    module.save_pretrained(folder, **how)
    return module.eval()


def shards(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.glob("*.safetensors")))


@pytest.fixture
def never_loaded(monkeypatch):
    """Transformers is not asked to load a checkpoint."""

    def refuse(*_, **__):
        raise AssertionError("from_pretrained was called")

    monkeypatch.setattr(pretrained, "_from_pretrained", refuse)


def assert_same(found: dict[str, torch.Tensor], module: torch.nn.Module) -> None:
    expected = module.state_dict()
    assert list(found) == list(expected)
    assert all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("case", CONFIGS)
@pytest.mark.usefixtures("never_loaded")
def test_weights_are_read_from_the_files_under_the_models_names(case, tmp_path):
    module = saved(case, tmp_path)
    assert_same(read_weights(shards(tmp_path)), module)


@pytest.mark.usefixtures("never_loaded")
def test_several_shards_are_one_checkpoint(tmp_path):
    module = saved("llama", tmp_path, max_shard_size="4KB")
    assert len(shards(tmp_path)) > 1
    assert_same(read_weights(shards(tmp_path)), module)


@pytest.mark.usefixtures("never_loaded")
def test_tied_weights_are_one_tensor_under_two_names(tmp_path):
    saved("qwen2 tied", tmp_path)
    assert "lm_head.weight" not in safetensors.torch.load_file(tmp_path / "model.safetensors")
    found = read_weights(shards(tmp_path))
    assert found["lm_head.weight"].data_ptr() == found["model.embed_tokens.weight"].data_ptr()


@pytest.mark.parametrize(
    ("case", "old", "new"), [("gpt2", "transformer.", ""), ("gpt_neox", "lm_head.", "embed_out.")]
)
@pytest.mark.usefixtures("never_loaded")
def test_older_checkpoints_name_some_tensors_otherwise_and_hold_masks_besides(case, old, new, tmp_path):
    module = saved(case, tmp_path)
    tensors = {
        new + name.removeprefix(old) if name.startswith(old) else name: value.clone()
        for name, value in module.state_dict().items()
    }
    safetensors.torch.save_file({**tensors, "h.0.attn.bias": torch.ones(3)}, tmp_path / "model.safetensors")
    assert_same(read_weights(shards(tmp_path)), module)


def test_transformers_loads_what_has_other_names(tmp_path, monkeypatch):
    module = saved("llama", tmp_path)
    monkeypatch.setattr(pretrained._Outline, "named", lambda self, found: None)
    assert_same(read_weights(shards(tmp_path)), module)


def test_a_network_is_built_once_and_given_the_weights_of_each_checkpoint(tmp_path):
    first, later = (saved("gpt2", tmp_path / str(seed), seed) for seed in (0, 1))
    model = adapt(load_pretrained(tmp_path / "0"))
    other = model.at(read_weights(shards(tmp_path / "1")))
    torch.testing.assert_close(other(EVENTS), adapt(later)(EVENTS))
    torch.testing.assert_close(model(EVENTS), adapt(first)(EVENTS))
    with pytest.raises(DamagedArtefact, match=r"does not fit the GPT2LMHeadModel .*; give one of this model"):
        model.at({"transformer.wte.weight": torch.zeros(2, 2)})


def test_a_model_is_loaded_in_single_precision_with_attention_that_can_be_differentiated_twice(tmp_path):
    module = saved("llama", tmp_path).to(torch.bfloat16)
    module.save_pretrained(tmp_path)
    loaded = load_pretrained(tmp_path)
    assert loaded.dtype == torch.float32
    assert not loaded.training
    assert loaded.config._attn_implementation == "eager"
    assert all(
        torch.equal(value, module.state_dict()[name].float()) for name, value in loaded.state_dict().items()
    )
    assert {value.dtype for value in read_weights(shards(tmp_path)).values()} == {torch.bfloat16}


def truncate(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:-50])


def drop(folder: Path) -> None:
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    tensors.pop("model.layers.1.mlp.up_proj.weight")
    safetensors.torch.save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def reshape(folder: Path) -> None:
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    tensors["model.norm.weight"] = torch.ones(3)
    safetensors.torch.save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def pickle(folder: Path) -> None:
    torch.save({}, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


DAMAGES = {
    "truncated": (truncate, "holds no causal language model to read|is damaged or foreign"),
    "missing file": (
        lambda folder: (folder / "model.safetensors").unlink(),
        "no file|is missing; restore",
    ),
    "missing tensor": (drop, r"lacks 1 tensors, such as 'model\.layers\.1\.mlp\.up_proj\.weight'; restore it"),
    "another shape": (reshape, "holds no causal language model to read"),
    "a pickle": (pickle, "no file|is missing; restore"),
    "config of no JSON": (
        lambda folder: (folder / "config.json").write_text("{"),
        "holds no causal",
    ),
    "config of a list": (lambda folder: (folder / "config.json").write_text("[]"), "it is not a JSON object"),
    "config of no model": (lambda folder: (folder / "config.json").write_text("{}"), "holds no causal"),
    "config of another model": (
        lambda folder: (folder / "config.json").write_text(json.dumps({"model_type": "bert_of_mine"})),
        "bert_of_mine",
    ),
    "no config": (
        lambda folder: (folder / "config.json").unlink(),
        "so it is not a saved model",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_damaged_checkpoint_is_one_line(damage, tmp_path):
    saved("llama", tmp_path)
    harm, says = DAMAGES[damage]
    files = shards(tmp_path)
    harm(tmp_path)
    for read in (lambda: read_weights(files), lambda: load_pretrained(tmp_path)):
        with pytest.raises(DamagedArtefact, match=says) as caught:
            read()
        assert "\n" not in str(caught.value)


def test_without_transformers_the_extra_is_named(tmp_path, monkeypatch):
    saved("llama", tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(InvalidConfig, match=r"pip install 'quantascope\[transformers\]'"):
        load_pretrained(tmp_path)


def test_a_field_on_events_of_unequal_length_is_that_of_each_example_alone(tmp_path):
    module = saved("gpt_neox", tmp_path / "step-0")
    events = Events.of([[1, 0, 2], [3]], [[4, 0], [5]])
    optimizer = torch.optim.Adam(module.parameters(), 1e-2)
    for step in (10, 20):
        optimizer.zero_grad()
        causal_lm_losses(module, events).mean().backward()
        optimizer.step()
        module.save_pretrained(tmp_path / f"step-{step}")
    eager = load_pretrained(tmp_path / "step-0")
    losses, trajectory = ModuleLosses(eager, causal_lm_losses), Trajectory.open(tmp_path, reader=read_weights)
    whole, *alone = (
        priority_field(
            trajectory, losses, layers_of(eager), train=events, events=part, rule="path", tolerance=1e-4
        )
        for part in (events, events[:1], events[1:])
    )
    assert whole.completeness == pytest.approx(1, abs=2e-3)
    parts = np.concatenate([part.values for part in alone], axis=1)
    np.testing.assert_allclose(whole.values, parts, atol=1e-3 * np.abs(parts).max())
