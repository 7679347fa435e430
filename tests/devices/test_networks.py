"""Networks on the simulated second device (see conftest) do what they do on the CPU, bit for bit."""

import numpy as np
import pytest
import torch
from torch import nn

from quantascope.discovery.discover import discover
from quantascope.guidance.alignment import Guidance, event_updates, level_sums
from quantascope.models import Transformer, TransformerConfig, predict
from quantascope.models.device import CPU, device_of
from quantascope.models.hugging_face import adapt, causal_lm_losses
from quantascope.qmodel import CompiledConfig, CompiledQModel, RecoveredConfig, RecoveredQModel
from quantascope.qmodel.recovered.config import RecoveredFit
from quantascope.qmodel.recovered.fit import recovery_objective
from quantascope.qmodel.recovered.loss import ReplayedCheckpoint
from quantascope.quanta.graph import Edge, QGraph
from quantascope.sources.losses import ModuleLosses, TiedLosses
from quantascope.sources.module import module_source
from quantascope.tasks.events import Events
from quantascope.tasks.task import ExampleTask
from quantascope.training import Recorder

EVENTS = Events.of(prompts=[[1, 0, 2, 7], [1], [3, 3]], outputs=[[4, 1, 5], [6, 2], [19]])
SPECIAL = {"bos_token_id": None, "eos_token_id": None}
ROTARY = {
    "vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
    "num_key_value_heads": 2, "max_position_embeddings": 12, "pad_token_id": None, **SPECIAL,
}  # fmt: skip
GPT2 = {"vocab_size": 20, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 12, **SPECIAL}
FAMILIES = ["GPT2", "GPTNeoX", "Llama", "Mistral", "Olmo", "Olmo2", "Qwen2", "Qwen3"]


def decoder(kind: str) -> nn.Module:
    transformers = pytest.importorskip("transformers")
    config = getattr(transformers, f"{kind}Config")(**(GPT2 if kind == "GPT2" else ROTARY))
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()


def assert_equal_on_both(work, second_device):
    """Check that a function of a device gives the same on the CPU and on the second one."""
    here = work(CPU)
    with second_device() as name:
        there = work(torch.device(name))
        assert all(one.device == torch.device(name) for one in there)
        there = [one.tolist() for one in there]
    assert [one.tolist() for one in here] == there


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_hugging_face_decoder_runs_resumes_and_is_fitted(kind, second_device):
    def work(device):
        model, events = adapt(decoder(kind)).to(device), EVENTS.to(device)
        done = model.run(events)
        resumed = model.resume(done.stream, events, block=1)
        qmodel = RecoveredQModel(
            layers=(0, 1, 1), blocks=2, interface=model.interface(), config=RecoveredConfig(), seed=0
        ).to(device)
        supports = (torch.arange(3 * EVENTS.count).reshape(3, -1) % 2 == 0).to(device)
        batch = ReplayedCheckpoint.of(
            model, EVENTS, existence=torch.full((3,), 0.5, device=device), supports=supports
        )
        terms = recovery_objective(RecoveredFit())(qmodel, (batch, False), step=2000)
        gradients = [one.grad for one in qmodel.parameters() if one.grad is not None]
        return [done.logits, *done.updates, resumed, *terms.values(), *gradients]

    assert_equal_on_both(work, second_device)


@pytest.mark.parametrize("kind", ["GPT2", "GPTNeoX", "Llama"])
def test_losses_are_computed_where_the_parameters_are_with_a_module_on_the_cpu(kind, second_device):
    def work(device):
        module = decoder(kind)
        losses = TiedLosses.of(ModuleLosses(module, causal_lm_losses), module.state_dict(), device)
        at = losses.tensors(module.state_dict())
        leaves = {name: one.detach().requires_grad_() for name, one in losses.parameters(at).items()}
        found = losses({**at, **leaves}, EVENTS)
        found.sum().backward()
        assert device_of(module) == CPU
        return [found, *(one.grad for one in leaves.values())]

    assert_equal_on_both(work, second_device)


def test_a_qmodel_guides_a_network_in_a_loop_of_ones_own(second_device):
    graph = QGraph(("READ", "A", "B"), (Edge(0, 1), Edge(0, 2)), emitters=(1, 2))
    shape = {"vocabulary": 20, "positions": 12, "seed": 0}

    def work(device):
        teacher = CompiledQModel(graph=graph, config=CompiledConfig(width=6), **shape).to(device)
        model = Transformer(config=TransformerConfig(blocks=2, width=8, hidden=8), **shape).to(device)
        guidance = Guidance.of(level_sums(teacher, EVENTS), blocks=2, width=8).shuffled_over_events(seed=1)
        events = EVENTS.to(device)
        done = model.run(events, predictions_only=True)
        guidance.shuffled_over_depth(seed=0).alignment(event_updates(done, events)).backward()
        return [one.grad for one in model.parameters() if one.grad is not None]

    assert_equal_on_both(work, second_device)


def test_predictions_are_on_the_cpu(second_device):
    with second_device() as name:
        model = Transformer(vocabulary=20, positions=12, config=TransformerConfig(), seed=0).to(name)
        found = predict(model, EVENTS)
    assert found.nll.device == found.token.device == found.events.tokens.device == CPU


class Scaled(nn.Module):
    """A network with a buffer that no checkpoint keeps."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 2)
        self.register_buffer("scale", torch.tensor([0.5, 1.0, 2.0]), persistent=False)

    def forward(self, rows):
        return self.linear(rows * self.scale)


def squares(model, batch):
    return (model(batch) - 1).square().sum(1)


def test_a_network_of_ones_own_is_measured(second_device, tmp_path):
    rows = torch.linspace(-1, 1, 36).reshape(12, 3)
    examples = {"training": rows, "held_out": rows[::2] + 0.1}
    task = ExampleTask(examples, classes={name: np.arange(len(one)) for name, one in examples.items()})
    model = Scaled()
    recorder, optimizer = Recorder(model, tmp_path / "kept", steps=5), torch.optim.SGD(model.parameters(), 0.05)
    for _ in range(15):
        optimizer.zero_grad()
        squares(model, rows).mean().backward()
        optimizer.step()
        recorder.step(0.05)
    asked = {"task": task, "layers": {"all": "*"}, "losses": squares}
    here = discover(module_source(model, tmp_path / "kept", **asked, folder=tmp_path / "here"))
    with second_device() as device:
        there = discover(
            module_source(model, tmp_path / "kept", **asked, folder=tmp_path / "there", device=device)
        )
    assert here.trained.values.tolist() == there.trained.values.tolist()
    assert here.held_out.losses.tolist() == there.held_out.losses.tolist()
