"""Residual models: our Transformer and every family of Hugging Face, against the models themselves."""

import numpy as np
import pytest
import torch
from torch import nn

from quantascope.models import ResidualModel, Transformer, TransformerConfig
from quantascope.models.grid import grid_of
from quantascope.models.hidden_units import hidden_unit_groups
from quantascope.models.hugging_face import adapt, causal_lm_losses, layers_of, mlp_groups
from quantascope.models.residual import Interface
from quantascope.runs.errors import InvalidConfig
from quantascope.sources.losses import ModuleLosses
from quantascope.tasks.events import Events

transformers = pytest.importorskip("transformers")

EVENTS = Events.of(prompts=[[1, 0, 2, 7], [0], [3, 3]], outputs=[[4, 0, 5], [6, 2], [19]])
WIDTH, VOCABULARY = 16, 20
SHAPE = {
    "vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 24, "max_position_embeddings": 12,
}  # fmt: skip
GPT2 = {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_layer": 2, "n_head": 2, "n_positions": 12, "n_inner": 24}
DROPOUT = {"hidden_dropout": 0.5, "attention_dropout": 0.5}
SPECIAL = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
CASES = {
    "gpt2": ("GPT2Config", {**GPT2, "resid_pdrop": 0.5, "embd_pdrop": 0.5, "attn_pdrop": 0.5}),
    "gpt_neox": ("GPTNeoXConfig", {**SHAPE, **DROPOUT}),
    "gpt_neox sequential": ("GPTNeoXConfig", {**SHAPE, "use_parallel_residual": False, "rotary_pct": 1.0}),
    "llama": ("LlamaConfig", {**SHAPE, "num_key_value_heads": 1, "rope_theta": 500.0}),
    "llama tied": ("LlamaConfig", {**SHAPE, "tie_word_embeddings": True, "mlp_bias": True}),
    "mistral": ("MistralConfig", {**SHAPE, "num_key_value_heads": 1, "sliding_window": 2}),
    "olmo": ("OlmoConfig", SHAPE),
    "olmo2": ("Olmo2Config", SHAPE),
    "qwen2": ("Qwen2Config", {**SHAPE, "num_key_value_heads": 2}),
    "qwen2 sliding": (
        "Qwen2Config",
        {
            **SHAPE,
            "num_key_value_heads": 2,
            "use_sliding_window": True,
            "sliding_window": 2,
            "max_window_layers": 1,
        },
    ),
    "qwen3": ("Qwen3Config", {**SHAPE, "num_key_value_heads": 1, "head_dim": 8}),
}


def build(case: str, attention: str = "eager") -> nn.Module:
    """A tiny model whose norms and biases are not at their starts, so that none can be forgotten unseen."""
    name, shape = CASES[case]
    torch.manual_seed(0)
    config = getattr(transformers, name)(**{**SPECIAL, **shape})
    module = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return module


@pytest.fixture(params=["transformer", *CASES])
def model(request) -> ResidualModel:
    if request.param == "transformer":
        config = TransformerConfig(blocks=2, width=WIDTH, heads=2, hidden=24)
        return Transformer(vocabulary=VOCABULARY, positions=12, config=config, seed=0)
    return adapt(build(request.param))


def own_logits(module: nn.Module, events: Events) -> torch.Tensor:
    """Each example alone through the model as transformers runs it, without padding or mask."""
    rows = []
    for example, length in enumerate(events.length.tolist()):
        (alone,) = module(input_ids=events.tokens[example : example + 1, :length], use_cache=False).logits
        rows.append(alone[events.position[events.example == example]])
    return torch.cat(rows)


@torch.no_grad()
def test_the_stream_with_all_updates_reads_out_as_the_models_own_logits(model):
    done, interface = model.run(EVENTS), model.interface()
    stream = done.stream + torch.stack(done.updates).sum(0)
    assert len(done.updates) == model.depth == 2
    assert done.stream.shape == (len(EVENTS.rows), model.width)
    torch.testing.assert_close(interface.read_out(stream[EVENTS.event_rows]), done.logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(interface.embed(grid_of(EVENTS)), done.stream, atol=0, rtol=0)
    torch.testing.assert_close(model(EVENTS), done.logits, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_run_resumed_at_any_block_ends_like_the_whole_run(model):
    done = model.run(EVENTS)
    stream = done.stream
    for block, update in enumerate([*done.updates, torch.zeros_like(stream)]):
        resumed = model.resume(stream, EVENTS, block=block)
        torch.testing.assert_close(resumed, done.logits, atol=1e-5, rtol=1e-5)
        stream = stream + update
    changed = model.resume(done.stream + torch.randn_like(stream), EVENTS, block=1)
    assert (changed - done.logits).abs().max() > 0.1
    torch.testing.assert_close(model(EVENTS), done.logits, atol=1e-5, rtol=1e-5)


def test_every_model_keeps_the_protocol_and_its_interface_takes_no_gradient(model):
    assert isinstance(model, ResidualModel)
    interface = model.interface()
    assert not any(parameter.requires_grad for parameter in interface.parameters())
    assert (interface.vocabulary, interface.positions, interface.width) == (VOCABULARY, 12, WIDTH)
    with torch.no_grad():
        before = interface.head.weight.clone()
        for parameter in model.parameters():
            parameter.zero_()
    assert torch.equal(interface.head.weight, before)


def test_an_interface_copies_tensors_without_drawing_any(model):
    state = torch.get_rng_state()
    model.interface()
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("case", CASES)
@torch.no_grad()
def test_padded_rows_give_what_each_example_gives_alone(case, attention):
    module = build(case, attention)
    model = adapt(module)
    torch.testing.assert_close(model(EVENTS), own_logits(module, EVENTS), atol=1e-5, rtol=1e-5)
    whole = model.run(EVENTS)
    first = 0
    for example, length in enumerate(EVENTS.length.tolist()):
        alone, rows = model.run(EVENTS[example : example + 1]), slice(first, first + length)
        for ours, theirs in zip([whole.stream, *whole.updates], [alone.stream, *alone.updates], strict=True):
            torch.testing.assert_close(ours[rows], theirs, atol=1e-5, rtol=1e-5)
        first += length


@pytest.mark.parametrize("case", ["gpt2", "gpt_neox"])
def test_losses_are_those_of_the_events_and_of_no_padding(case):
    module = build(case).eval()
    losses = ModuleLosses(module, causal_lm_losses)(dict(module.state_dict()), EVENTS)
    expected = nn.functional.cross_entropy(own_logits(module, EVENTS), EVENTS.target, reduction="none")
    torch.testing.assert_close(losses, expected, atol=1e-5, rtol=1e-5)
    text = torch.tensor([[1, 0, 5, 7], [3, 3, 2, 0]])
    torch.testing.assert_close(
        causal_lm_losses(module, Events.of_text(text.tolist())),
        causal_lm_losses(module, text),
        atol=1e-5,
        rtol=1e-5,
    )


def test_the_layers_are_the_parameters_that_move_the_updates_of_a_block():
    module = build("gpt_neox sequential")
    assert layers_of(module) == {"block 0": "gpt_neox.layers.0.*", "block 1": "gpt_neox.layers.1.*"}
    update = adapt(module).run(EVENTS).updates[1]
    names, parameters = zip(*module.named_parameters(), strict=True)
    gradients = torch.autograd.grad(update.square().sum(), parameters, allow_unused=True)
    reached = {name for name, gradient in zip(names, gradients, strict=True) if gradient is not None}
    assert {name for name in names if name.startswith("gpt_neox.layers.1.")} <= reached
    assert not reached & {"lm_head.weight", "gpt_neox.final_layer_norm.weight"}


@pytest.mark.parametrize("case", ["gpt2", "gpt_neox", "llama", "llama tied"])
@torch.no_grad()
def test_the_groups_of_a_hidden_unit_are_all_that_it_depends_on_and_all_that_it_writes_with(case):
    """A unit whose group is all zero writes nothing, whatever is read; the others do what they did."""
    module = build(case).eval()
    groups = mlp_groups(module)["block 1"]
    mlp = module.get_submodule(next(iter(groups)).rpartition(".mlp.")[0] + ".mlp")
    reads = torch.randn(5, WIDTH)
    whole = mlp(reads)
    units = 24
    bias = next((name for name, own in groups.items() if (own == units).any()), None)
    assert sum(map(len, groups.values())) == sum(parameter.numel() for parameter in mlp.parameters())
    wrote = torch.zeros_like(whole) if bias is None else module.get_parameter(bias).expand_as(whole).clone()
    for unit in range(units):
        kept = {name: module.get_parameter(name).clone() for name in groups}
        for name, own in groups.items():
            mask = torch.from_numpy(own != unit).reshape(kept[name].shape)
            module.get_parameter(name).mul_(mask)
        missing = whole - mlp(reads)
        alone = {name: torch.from_numpy((own == unit) | (own == units)) for name, own in groups.items()}
        for name, mask in alone.items():
            module.get_parameter(name).copy_(kept[name] * mask.reshape(kept[name].shape))
        without_bias = mlp(reads) - (0 if bias is None else kept[bias])
        torch.testing.assert_close(without_bias, missing, atol=1e-5, rtol=1e-4)
        wrote += missing
        for name, value in kept.items():
            module.get_parameter(name).copy_(value)
    torch.testing.assert_close(wrote, whole, atol=1e-4, rtol=1e-4)


def test_groups_of_linear_layers_are_those_of_a_plain_mlp():
    found = np.concatenate(list(mlp_groups(build("gpt_neox"))["block 0"].values()))
    np.testing.assert_array_equal(found, hidden_unit_groups(inputs=WIDTH, hidden=24, outputs=WIDTH))


def test_updates_can_be_learned_from():
    module = build("llama")
    adapt(module).run(EVENTS).updates[0].square().sum().backward()
    assert module.get_parameter("model.layers.0.mlp.down_proj.weight").grad.abs().max() > 0
    assert module.get_parameter("model.layers.1.mlp.down_proj.weight").grad is None


def test_models_that_have_no_adapter_say_what_there_is():
    other = transformers.OPTConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, ffn_dim=8, word_embed_proj_dim=8
    )
    with pytest.raises(
        InvalidConfig, match=r"type 'opt' has no adapter; there are adapters for gpt2, .*ResidualModel"
    ):
        adapt(transformers.OPTForCausalLM(other))
    with pytest.raises(InvalidConfig, match=r"Linear, which has no config\.model_type, has no adapter"):
        adapt(nn.Linear(2, 2))
    with pytest.raises(InvalidConfig, match="GPT2Model is not a full language model; load it with Auto"):
        adapt(build("gpt2").transformer)
    model = adapt(build("gpt2"))
    with pytest.raises(InvalidConfig, match="there is no block 3 to resume at; give 0 to 2"):
        model.resume(torch.zeros(1, WIDTH), EVENTS, block=3)
    with pytest.raises(InvalidConfig, match="takes 13 positions of 12; give shorter ones"):
        model(Events.of([[1] * 13], [[2]]))


def test_an_interface_of_the_first_kind_keeps_its_names():
    names = ["embedding.weight", "position.weight", "norm.weight", "norm.bias", "head.weight", "head.bias"]
    assert list(Interface(vocabulary=4, positions=3, width=2).state_dict()) == names
