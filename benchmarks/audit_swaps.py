"""What `audit` finds in checkpoint series with known faults, and what it reports falsely.

Tiny networks are trained: GPT-2 and GPT-NeoX with AdamW; an MLP with minibatches; an MLP by descent at so large a
rate that the loss jumps; and, late and step by step, an MLP that oscillates under full-batch Adam and one that
oscillates with period two at the edge of stability. Each series is damaged in every way: two members exchanged at
distance 1, 2, 3 and 5; the first, a middle and the last member replaced by one of another seed; a member copied
over another; the second half of another seed; the whole in reverse, with losses. A fault counts as found if
findings name the damaged step (for exchanges both steps). A finding that names another step is a false alarm.
Sound series of further seeds are audited too. The audit's thresholds were chosen on seeds below 60.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from sklearn.datasets import load_digits
from torch import Tensor, nn

from quantascope.training.audit import audit
from quantascope.training.finding import Finding
from quantascope.training.order import oscillation
from quantascope.training.sketch import distances, sketch

State = dict[str, Tensor]
Fault = tuple[str, list[int], set[int] | None]
"""Kind of fault, which member is in which place, and the places to be named; none: any finding of reversal."""

TOKENS, LENGTH = 48, 24


def copying_text(rows: int, generator: torch.Generator) -> Tensor:
    """Rows of a Markov chain whose second half repeats the first."""
    table = torch.softmax(3 * torch.randn(TOKENS, TOKENS, generator=torch.Generator().manual_seed(7)), -1)
    first = [torch.randint(TOKENS, (rows,), generator=generator)]
    while len(first) < LENGTH // 2:
        first.append(torch.multinomial(table[first[-1]], 1, generator=generator)[:, 0])
    half = torch.stack(first, 1)
    return torch.cat([half, half], 1)


def language_model(family: str) -> Any:
    """A tiny decoder of a family of Hugging Face."""
    import transformers

    ends: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 0}
    if family == "GPT-2":
        config = transformers.GPT2Config(
            vocab_size=TOKENS, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=2, **ends
        )
        return transformers.GPT2LMHeadModel(config)
    config = transformers.GPTNeoXConfig(
        vocab_size=TOKENS,
        max_position_embeddings=LENGTH,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        **ends,
    )
    return transformers.GPTNeoXForCausalLM(config)


def language_series(family: str, seed: int) -> tuple[list[State], list[float]]:
    """21 checkpoints of a training with warmup and linear decay."""
    torch.manual_seed(seed)
    model, generator, updates = language_model(family).eval(), torch.Generator().manual_seed(seed), 300
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / 15, 1 - step / updates))

    def update() -> float:
        tokens = copying_text(16, generator)
        loss = model(input_ids=tokens, labels=tokens).loss
        _descend(optimizer, loss)
        schedule.step()
        return loss.item()

    return _kept(model, update, range(0, updates + 1, 15))


def digits_series(kind: str, seed: int) -> tuple[list[State], list[float]]:
    """Checkpoints of an MLP on digits."""
    images, labels = load_digits(return_X_y=True)
    rows = 1000 if kind in ("minibatches", "large rate") else 300
    inputs, answers = torch.tensor(images[:rows] / 16, dtype=torch.float32), torch.tensor(labels[:rows])
    torch.manual_seed(seed)
    activation = nn.GELU if kind == "large rate" else nn.Tanh
    model = nn.Sequential(nn.Linear(64, 32), activation(), nn.Linear(32, 32), activation(), nn.Linear(32, 10))
    optimizer, steps = {
        "minibatches": lambda: (torch.optim.Adam(model.parameters(), lr=1e-3), range(0, 401, 20)),
        "large rate": lambda: (torch.optim.SGD(model.parameters(), lr=0.85), range(0, 401, 20)),
        "oscillating Adam": lambda: (torch.optim.Adam(model.parameters(), lr=1e-2), range(1500, 1521)),
        "edge of stability": lambda: (torch.optim.SGD(model.parameters(), lr=0.2), range(2000, 2021)),
    }[kind]()
    generator = torch.Generator().manual_seed(seed)

    def update() -> float:
        chosen = torch.randint(rows, (32,), generator=generator) if kind == "minibatches" else slice(None)
        outputs, wanted = model(inputs[chosen]), answers[chosen]
        if rows == 1000:
            loss = nn.functional.cross_entropy(outputs, wanted)
        else:
            loss = (outputs - nn.functional.one_hot(wanted, 10)).square().mean() * 10
        _descend(optimizer, loss)
        return loss.item()

    return _kept(model, update, steps)


def _descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _kept(model: nn.Module, update: Callable[[], float], steps: range) -> tuple[list[State], list[float]]:
    """Checkpoints at the steps, and the training loss at each."""
    states, losses = [], []
    for step in range(steps[-1] + 1):
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()} if step in steps else None
        loss = update()
        if state is not None:
            states.append(state)
            losses.append(loss)
    return states, losses


def faults(members: int) -> Iterator[Fault]:
    """Every fault; members of the other seed are numbered after those of the first."""
    whole = list(range(members))
    for distance in (1, 2, 3, 5):
        for first in sorted({*range(0, members - distance, 2), members - distance - 1}):
            order = whole.copy()
            order[first], order[first + distance] = order[first + distance], order[first]
            yield f"exchanged at {distance}", order, {first, first + distance}
    for place, name in ((0, "first"), (members // 2, "middle"), (members - 1, "last")):
        order = whole.copy()
        order[place] = members + place
        yield f"foreign {name}", order, {place}
    for place in range(2, members - 2, 3):
        order = whole.copy()
        order[place] = place - 2
        yield "copied over another", order, {place}
    half = members // 2
    yield "second half foreign", whole[:half] + [members + at for at in whole[half:]], {half}
    yield "reversed", whole[::-1], None


def lay_out(files: list[Path], order: list[int], folder: Path) -> None:
    """Links to the members in the given order."""
    for place, member in enumerate(order):
        os.link(files[member], folder / f"step-{place}.safetensors")


def named(finding: Finding) -> set[int]:
    """The steps that a finding blames: both of an exchange, the one of others."""
    if finding.kind == "exchanged":
        words = finding.says.split()
        return {int(words[1]), int(words[3])}
    return set() if finding.step is None else {finding.step}


def measure(states: list[State], losses: list[float], folder: Path) -> dict[str, tuple[int, int, int]]:
    """Found, total and false alarms of each fault, for one series and the other seed's after it."""
    members, files = len(losses), save(states, folder)
    counts: dict[str, tuple[int, int, int]] = {}
    for kind, order, places in faults(members):
        with tempfile.TemporaryDirectory(dir=folder) as inside:
            lay_out(files, order, Path(inside))
            given = [losses[member] for member in order] if places is None else None
            findings = audit(inside, losses=given)
        if places is None:
            hit, wrong = any(finding.kind == "reversed" for finding in findings), 0
        else:
            blamed = {step for finding in findings for step in named(finding)}
            hit, wrong = places <= blamed, int(bool(blamed - places))
        found, total, alarms = counts.get(kind, (0, 0, 0))
        counts[kind] = found + int(hit), total + 1, alarms + wrong
    return counts


def save(states: list[State], folder: Path) -> list[Path]:
    """A file for each checkpoint."""
    files = [folder / f"step-{place}.safetensors" for place in range(len(states))]
    for file, state in zip(files, states, strict=True):
        save_file({name: tensor.clone() for name, tensor in state.items()}, file)
    return files


def broken_share(states: list[State]) -> float:
    """Share of neighbouring triangles in which a later checkpoint is nearer: how much a series oscillates."""
    return oscillation(distances([sketch(state) for state in states]))


SERIES: dict[str, Callable[[int], tuple[list[State], list[float]]]] = {
    "GPT-2": lambda seed: language_series("GPT-2", seed),
    "GPT-NeoX": lambda seed: language_series("GPT-NeoX", seed),
    **{
        kind: lambda seed, kind=kind: digits_series(kind, seed)
        for kind in ("minibatches", "large rate", "oscillating Adam", "edge of stability")
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[60, 61], help="of the series that are damaged")
    parser.add_argument("--sound", type=int, nargs="*", default=[*range(62, 72)], help="of further sound series")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    began = time.perf_counter()
    for name, train in SERIES.items():
        sums: dict[str, tuple[int, int, int]] = {}
        alarms, shares = 0, []
        for seed in [*arguments.seeds, *arguments.sound]:
            states, losses = train(seed)
            shares.append(broken_share(states))
            with tempfile.TemporaryDirectory() as folder:
                save(states, Path(folder))
                alarms += bool(audit(folder, losses=losses))
            if seed in arguments.seeds:
                with tempfile.TemporaryDirectory() as folder:
                    for kind, counted in measure(states + train(seed + 100)[0], losses, Path(folder)).items():
                        before = sums.get(kind, (0, 0, 0))
                        sums[kind] = (before[0] + counted[0], before[1] + counted[1], before[2] + counted[2])
        print(f"{name}: broken triangles in sound series {min(shares):.2f} to {max(shares):.2f}")
        print(f"  {'sound':24s} false alarms in {alarms}/{len(shares)}")
        for kind, (found, total, wrong) in sums.items():
            print(f"  {kind:24s} found {found}/{total}, false alarms in {wrong}/{total}", flush=True)
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
