"""The Transformer against PyTorch's own, and its predictions."""

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from quantascope.models import Transformer, TransformerConfig, decode, predict
from quantascope.tasks.events import PAD, Events
from quantascope.tasks.number_naming import PANELS, POSITIONS, VOCABULARY, answer, naming_events, prompt

NUMBERS = [7, 20, 346, 800, 3002, 42_017, 999_999]
EVENTS = naming_events(NUMBERS)
END = VOCABULARY.index("EOS")


def build(**shape: Any) -> Transformer:
    return Transformer(vocabulary=len(VOCABULARY), positions=POSITIONS, config=TransformerConfig(**shape), seed=1)


def reference_logits(model: Transformer) -> torch.Tensor:
    """The same network written with `nn.TransformerEncoderLayer` on padded rows."""
    config, events = model.config, EVENTS
    hidden = model.embedding(events.tokens) + model.position.weight[: events.tokens.shape[1]]
    causal = nn.Transformer.generate_square_subsequent_mask(events.tokens.shape[1])
    for block in model.blocks:
        layer = nn.TransformerEncoderLayer(
            config.width, config.heads, config.hidden, dropout=0.0, activation="gelu", batch_first=True,
            norm_first=True,
        )  # fmt: skip
        attention = layer.self_attn
        layer.load_state_dict(
            {
                "self_attn.in_proj_weight": torch.cat([block.query.weight, block.key_value.weight]),
                "self_attn.in_proj_bias": torch.cat([block.query.bias, block.key_value.bias]),
                **{f"self_attn.out_proj.{name}": value for name, value in block.out.state_dict().items()},
                **{f"linear1.{name}": value for name, value in block.up.state_dict().items()},
                **{f"linear2.{name}": value for name, value in block.down.state_dict().items()},
                **{f"norm1.{name}": value for name, value in block.attention_norm.state_dict().items()},
                **{f"norm2.{name}": value for name, value in block.mlp_norm.state_dict().items()},
            }
        )
        assert attention.num_heads == config.heads
        hidden = layer(hidden, src_mask=causal)
    return model.head(model.norm(hidden))[events.example, events.position]


@pytest.mark.parametrize("heads", [1, 4])
def test_it_is_the_textbook_transformer(heads):
    model = build(heads=heads)
    torch.testing.assert_close(model(EVENTS), reference_logits(model), atol=2e-5, rtol=1e-5)


def test_the_paper_s_initialisation_is_that_of_torch_s_modules_drawn_in_turn():
    model = build(initialization="paper")
    torch.manual_seed(1)
    nn.Embedding(len(VOCABULARY), 32), nn.Embedding(POSITIONS, 32)
    for block in model.blocks:
        norm, attention, up, down = (
            nn.LayerNorm(32),
            nn.MultiheadAttention(32, 1),
            nn.Linear(32, 64),
            nn.Linear(64, 32),
        )
        weights = torch.cat([block.query.weight, block.key_value.weight])
        assert torch.equal(weights, attention.in_proj_weight)
        assert torch.equal(block.out.weight, attention.out_proj.weight)
        assert torch.equal(block.up.weight, up.weight)
        assert torch.equal(block.down.bias, down.bias)
        assert not any(own.bias.any() for own in (block.query, block.key_value, block.out))
        assert torch.equal(block.mlp_norm.weight, norm.weight)
    assert torch.equal(model.head.weight, nn.Linear(32, len(VOCABULARY)).weight)


@pytest.mark.parametrize(("blocks", "parameters"), [(3, 29_196), (5, 46_284), (10, 89_004)])
def test_parameters_are_counted_as_in_the_paper(blocks, parameters):
    assert sum(parameter.numel() for parameter in build(blocks=blocks).parameters()) == parameters


def test_a_full_pass_and_a_pass_for_predictions_agree_and_updates_add_up():
    model = build()
    whole, short = model.run(EVENTS), model.run(EVENTS, predictions_only=True)
    torch.testing.assert_close(whole.logits, short.logits)
    torch.testing.assert_close(whole.updates[-1][EVENTS.event_rows], short.updates[-1])
    stream = whole.stream + torch.stack(whole.updates).sum(0)
    torch.testing.assert_close(model.head(model.norm(stream[EVENTS.event_rows])), whole.logits)


def test_the_future_and_the_padding_change_nothing():
    model = build()
    alone = torch.cat([model(naming_events([number])) for number in NUMBERS])
    torch.testing.assert_close(alone, model(EVENTS), atol=1e-5, rtol=1e-5)
    cut = EVENTS.tokens.clone()
    cut[:, 8:] = torch.where(cut[:, 8:] > 0, VOCABULARY.index("UNK"), 0)
    changed = type(EVENTS)(cut, EVENTS.example, EVENTS.position, EVENTS.target, EVENTS.length)
    before = EVENTS.position < 8
    torch.testing.assert_close(model(changed)[before], model(EVENTS)[before])


def test_a_seed_makes_the_network_and_leaves_the_global_generator_alone():
    state = torch.get_rng_state()
    one, two = build().state_dict(), build().state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert torch.equal(torch.get_rng_state(), state)


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValidationError, match="width 32 is not divisible by 5 heads"):
        TransformerConfig(heads=5)


class Fitted:
    """A predictor that is right on some numbers and wrong from the second word on in others."""

    def __init__(self) -> None:
        self.wrong = {346}

    def __call__(self, events):
        logits = torch.zeros(events.count, len(VOCABULARY))
        for row, (example, position) in enumerate(
            zip(events.example.tolist(), events.position.tolist(), strict=True)
        ):
            read = [VOCABULARY[token] for token in events.tokens[example].tolist() if token]
            number = int("".join(read[1 : read.index("SEP")]))
            name = answer(number)
            place = position - read.index("SEP")
            miss = number in self.wrong and place > 0
            logits[row, 1 if miss else name[min(place, len(name) - 1)]] = 1.0
        return logits


def test_exact_examples_are_those_with_no_wrong_token():
    predictions = predict(Fitted(), EVENTS)
    assert predictions.exact.tolist() == [number != 346 for number in NUMBERS]
    assert predictions.token_accuracy == pytest.approx(1 - 4 / EVENTS.count)
    assert predictions.exact_accuracy == pytest.approx(6 / 7)


def test_predictions_do_not_depend_on_the_chunks(monkeypatch):
    model = build()
    whole = predict(model, EVENTS)
    monkeypatch.setattr("quantascope.models.predictions.CHUNK", 2)
    torch.testing.assert_close(predict(model, EVENTS).nll, whole.nll, atol=1e-5, rtol=1e-5)


def test_greedy_decoding_is_exact_where_teacher_forcing_makes_no_mistake():
    model, numbers = trained_a_little(), PANELS["training"]()[:60]
    greedy = decode(model, [prompt(number) for number in numbers], end=END, limit=12, padding=PAD)
    exact = predict(model, naming_events(numbers)).exact.tolist()
    assert [output == answer(number) for output, number in zip(greedy, numbers, strict=True)] == exact
    assert 0 < sum(exact) < len(exact)


def test_padding_ends_an_output_only_where_the_caller_says_so():
    def counts_down(events: Events) -> torch.Tensor:
        after = (events.tokens[events.example, events.position] - 1) % 4
        return nn.functional.one_hot(after, 4).float()

    assert decode(counts_down, [[2], [1]], end=3, limit=9) == [[1, 0, 3], [0, 3]]
    assert decode(counts_down, [[2], [1]], end=3, limit=9, padding=PAD) == [[1, 0], [0]]


def trained_a_little() -> Transformer:
    model, events = build(blocks=1), naming_events(PANELS["training"]()[:40])
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(40):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(events), events.target).backward()
        optimizer.step()
    return model


def test_noise_is_added_after_every_block_and_not_to_what_blocks_say():
    model = build(blocks=1)
    torch.manual_seed(0)
    quiet, noisy = model.run(EVENTS), model.run(EVENTS, noise=0.5)
    assert torch.equal(quiet.updates[0], noisy.updates[0])
    hidden = (quiet.stream + quiet.updates[0])[EVENTS.event_rows]
    torch.manual_seed(0)
    added = 0.5 * torch.randn_like(quiet.stream)[EVENTS.event_rows]
    torch.testing.assert_close(noisy.logits, model.head(model.norm(hidden + added)))
