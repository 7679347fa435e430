"""A source with rotary positions whose task needs them, and its Q-models with rotary reads and without."""

import itertools

import pytest
import torch
from torch import nn

from quantascope.models.hugging_face import adapt, causal_lm_losses
from quantascope.models.residual import Interface, ResidualModel
from quantascope.qmodel.recovered.loss import RecoveryLoss, ReplayedCheckpoint, divergence, reconstruction_error
from quantascope.qmodel.recovered.model import RecoveredConfig, RecoveredQModel
from quantascope.tasks.events import Events

transformers = pytest.importorskip("transformers")

PROMPTS = list(itertools.product(range(4), repeat=3))
EVENTS = Events.of(PROMPTS, [[second] for _, second, _ in PROMPTS])
ANAGRAM = torch.tensor([PROMPTS.index((second, first, last)) for first, second, last in PROMPTS])
CHANGED = torch.arange(len(PROMPTS)) != ANAGRAM


@pytest.fixture(scope="module")
def source() -> ResidualModel:
    """A GPT-NeoX of one block that answers with the second of three symbols."""
    torch.manual_seed(0)
    config = transformers.GPTNeoXConfig(
        vocab_size=4, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=8, rotary_pct=1.0, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    module = transformers.GPTNeoXForCausalLM(config)
    optimizer = torch.optim.Adam(module.parameters(), 1e-2)
    for _ in range(100):
        optimizer.zero_grad()
        causal_lm_losses(module, EVENTS).mean().backward()
        optimizer.step()
    return adapt(module)


def fitted(batch: ReplayedCheckpoint, interface: Interface, updates: int = 200) -> RecoveredQModel:
    """A Q-model of four quanta that are always active."""
    config = RecoveredConfig(writers=6)
    model = RecoveredQModel(layers=(0,) * 4, blocks=1, interface=interface, config=config, seed=0)
    terms = RecoveryLoss(writers=0.0).terms(updates)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for step in range(updates):
        optimizer.zero_grad()
        done = model.run(EVENTS)
        sum(term(done, batch, step) for term in terms.values()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    return model


def variation(logits: torch.Tensor) -> float:
    """Mean total variation between the predictions after a word and after its anagram."""
    probability = logits.softmax(-1)
    return float((probability - probability[ANAGRAM]).abs().sum(-1)[CHANGED].mean() / 2)


def test_only_rotary_reads_tell_a_word_from_its_anagram(source):
    supports = torch.ones(4, EVENTS.count, dtype=torch.bool)
    batch = ReplayedCheckpoint.of(source, EVENTS, existence=torch.ones(4), supports=supports)
    config = batch.interface.config
    assert config.rotary == 10_000.0
    blind = Interface.of(
        batch.interface.state_dict(), positions=batch.interface.positions, config=config.replace({"rotary": None})
    )
    with torch.no_grad():
        assert variation(source(EVENTS)) > 0.98
    rotary, plain = (fitted(batch, interface) for interface in (batch.interface, blind))
    with torch.no_grad():
        with_order, without = rotary.run(EVENTS), plain.run(EVENTS)
    assert variation(with_order.logits) > 0.9
    # One layer without positions reads a set: order cannot reach what it predicts.
    assert variation(without.logits) < 1e-5
    assert divergence(with_order, batch) < 0.1 * divergence(without, batch)
    assert reconstruction_error(with_order, batch) < 0.3 * reconstruction_error(without, batch)
