"""The GRU of PyPI `g2p-en`, run from its weights: letters in, phonemes out, decoded greedily.

Its package is found, not imported. It holds an encoder and a decoder of 256 units each in the layout of `nn.GRU`;
it was trained on CMUdict, so most words that are held out here were not held out there.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from quantascope.tasks.packaged import PackagedData, packaged_data
from quantascope.tasks.spelling.task import LETTERS, PHONEMES

_INPUTS = ("<pad>", "<unk>", "</s>", *LETTERS)
_OUTPUTS = ("<pad>", "<unk>", "<s>", "</s>", *sorted((*PHONEMES, "UW")))
LIMIT = 20
"""Largest number of output phonemes, as in the package."""


def data() -> PackagedData:
    """The file of weights; the package asks for others that nothing here needs, and is in no extra."""
    return packaged_data("g2p_en", "checkpoint20.npz", options="--no-deps ", install="g2p-en")


@cache
def _weights() -> dict[str, Tensor]:
    with np.load(data().path, allow_pickle=False) as kept:
        return {name: torch.from_numpy(kept[name]) for name in kept.files}


def _gru(part: str) -> nn.GRUCell:
    weights = _weights()
    units = weights[f"{part}_w_hh"].shape[1]
    cell = nn.GRUCell(weights[f"{part}_w_ih"].shape[1], units)
    names = {"weight_ih": "w_ih", "weight_hh": "w_hh", "bias_ih": "b_ih", "bias_hh": "b_hh"}
    cell.load_state_dict({name: weights[f"{part}_{own}"] for name, own in names.items()})
    return cell


@torch.no_grad()
def pronounce(words: Sequence[str]) -> dict[str, Sequence[str]]:
    """The GRU's pronunciation of each word."""
    weights, encoder, decoder = _weights(), _gru("enc"), _gru("dec")
    longest = max(map(len, words)) + 1
    spelled = [[*(_INPUTS.index(letter) for letter in word), _INPUTS.index("</s>")] for word in words]
    tokens = torch.tensor([[*one, *[0] * (longest - len(one))] for one in spelled])
    length = torch.tensor(list(map(len, spelled)))
    state = torch.zeros(len(words), encoder.hidden_size)
    for place in range(longest):
        after = encoder(weights["enc_emb"][tokens[:, place]], state)
        state = torch.where((place < length)[:, None], after, state)
    said = torch.full((len(words),), _OUTPUTS.index("<s>"))
    columns = []
    for _ in range(LIMIT):
        state = decoder(weights["dec_emb"][said], state)
        said = (state @ weights["fc_w"].T + weights["fc_b"]).argmax(-1)
        columns.append(said)
    rows = torch.stack(columns, 1).tolist()
    return {word: _until_end([_OUTPUTS[token] for token in row]) for word, row in zip(words, rows, strict=True)}


def _until_end(sounds: list[str]) -> list[str]:
    return sounds[: sounds.index("</s>")] if "</s>" in sounds else sounds
