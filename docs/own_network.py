"""A GPT-2 for `quantascope guide --model docs/own_network.py:model`, as in programs.md."""

from transformers import GPT2Config, GPT2LMHeadModel

from quantascope import adapt


def model(task):
    ends = {"bos_token_id": None, "eos_token_id": None}
    config = GPT2Config(
        vocab_size=len(task.vocabulary), n_positions=task.positions, n_embd=32, n_layer=4, n_head=2, **ends
    )
    return adapt(GPT2LMHeadModel(config))
