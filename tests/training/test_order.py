"""Order and descent from distances, on synthetic ways whose faults are known; sketches against exact distances."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from quantascope.training.audit import audit
from quantascope.training.order import exchanged, lineages, standing_aside
from quantascope.training.sketch import distances, products, sketch

MEMBERS = 16


def ballistic(rng):
    """A straight way that slows down, with a little noise."""
    pace = np.cumsum(0.9 ** np.arange(MEMBERS))
    return pace[:, None] * rng.normal(size=400) + 0.01 * rng.normal(size=(MEMBERS, 400))


def diffusive(rng):
    """A random walk: every step in a new direction."""
    return np.cumsum(rng.normal(size=(MEMBERS, 400)), axis=0)


def log_spaced(rng):
    """A random walk kept at steps 0, 1, 2, 4, 8, …"""
    lengths = np.sqrt(np.diff([0, *(2**k for k in range(MEMBERS - 1))], prepend=0))
    return np.cumsum(lengths[:, None] * rng.normal(size=(MEMBERS, 400)), axis=0)


def oscillating(rng):
    """A jump to and fro across a valley, with a drift that is small against it."""
    sign = (-1.0) ** np.arange(MEMBERS)
    return sign[:, None] * rng.normal(size=400) + 0.02 * diffusive(rng)


def stationary(rng):
    """Noise around one place: any order is as good as another."""
    return rng.normal(size=(MEMBERS, 400))


def far(way):
    return np.linalg.norm(way[:, None] - way[None], axis=-1)


def pairs(way):
    return [(pair.first, pair.second) for pair in exchanged(far(way))]


@pytest.mark.parametrize("kind", [ballistic, diffusive, log_spaced, oscillating, stationary])
@pytest.mark.parametrize("seed", range(5))
def test_a_sound_way_raises_no_alarm_even_if_it_oscillates(kind, seed):
    way = kind(np.random.default_rng(seed))
    assert pairs(way) == []
    assert standing_aside(far(way)) == []


@pytest.mark.parametrize("kind", [ballistic, diffusive, log_spaced])
@pytest.mark.parametrize("distance", [1, 2, 3, 5])
def test_every_exchange_is_found_with_both_its_members(kind, distance, rng):
    way = kind(rng)
    for first in range(MEMBERS - distance):
        order = np.arange(MEMBERS)
        order[[first, first + distance]] = order[[first + distance, first]]
        assert pairs(way[order]) == [(first, first + distance)]


def test_a_first_step_that_overshoots_is_no_exchange_since_the_norm_grows(rng):
    start, there, back = rng.normal(size=(3, 20_000))
    way = np.stack([start, start + there, *(start + 0.05 * there + 0.1 * k * back for k in range(1, 8))])
    norms = np.linalg.norm(way, axis=1)
    assert pairs(way) == [(0, 1)]
    assert exchanged(far(way), norms) == []


def test_a_loss_that_rises_while_a_run_oscillates_is_no_reversal(tmp_path, rng):
    for step, place in enumerate(oscillating(rng)):
        save_file({"weight": torch.tensor(place).reshape(20, 20)}, tmp_path / f"step{step}.safetensors")
    assert audit(tmp_path, losses=list(range(MEMBERS))) == []


def test_two_exchanges_are_both_found(rng):
    order = np.arange(MEMBERS)
    order[[2, 3, 9, 12]] = order[[3, 2, 12, 9]]
    assert sorted(pairs(diffusive(rng)[order])) == [(2, 3), (9, 12)]


def test_a_member_far_from_both_its_neighbours_stands_aside(rng):
    way = diffusive(rng)
    way[7] += 20 * rng.normal(size=400)
    assert standing_aside(far(way)) == [7]


def grown(rng, start, decay=1.0):
    """Weights that descend from a start: each is the one before, perhaps decayed, and something new."""
    members = [start]
    while len(members) < MEMBERS:
        members.append(decay * members[-1] + 0.5 * rng.normal(size=start.size))
    return np.stack(members)


@pytest.mark.parametrize("decay", [1.0, 0.9, 0.6])
def test_members_of_another_start_are_of_another_run(decay, rng):
    one, other = (grown(rng, rng.normal(size=20_000), decay) for _ in range(2))
    assert lineages(one @ one.T, one.shape[1]) == [list(range(MEMBERS))]
    for place in (0, 1, 8, MEMBERS - 1):
        mixed = one.copy()
        mixed[place] = other[place]
        rest = [at for at in range(MEMBERS) if at != place]
        assert lineages(mixed @ mixed.T, one.shape[1]) == [rest, [place]]
    mixed = np.concatenate([one[:10], other[10:]])
    assert lineages(mixed @ mixed.T, one.shape[1]) == [list(range(10)), list(range(10, MEMBERS))]


def test_a_large_first_step_is_no_other_run(rng):
    start = rng.normal(size=20_000)
    way = np.stack([start, *(start + 10 * rng.normal(size=20_000) + k for k in np.zeros(5))])
    assert lineages(way @ way.T, 20_000) == [list(range(6))]


def test_few_weights_cannot_tell_runs_apart(rng):
    way = rng.normal(size=(6, 16))
    assert lineages(way @ way.T, 16) == [list(range(6))]


def test_sketches_keep_distances_exactly_if_the_model_is_small_and_nearly_if_it_is_large():
    torch.manual_seed(0)
    for size, error in ((50, 1e-12), (600, 0.02)):
        states = [{"w": 3 + torch.randn(size, size), "b": torch.randn(size)} for _ in range(3)]
        flat = [torch.cat([state["w"].flatten(), state["b"]]).double() for state in states]
        exact = torch.cdist(torch.stack(flat), torch.stack(flat)).numpy()
        assert distances([sketch(state) for state in states]) == pytest.approx(exact, rel=error, abs=1e-6)
        centred = torch.stack([(state["w"].double() - state["w"].double().mean()).flatten() for state in states])
        inner = (centred @ centred.T).numpy()
        assert products([sketch(state) for state in states]) == pytest.approx(
            inner, abs=error * inner[0, 0] + 1e-6
        )


@pytest.fixture
def series(tmp_path, rng):
    """A random walk of two matrices in two shards, in a folder for each step."""
    state = {"one": torch.randn(80, 80), "two": torch.randn(80, 80)}
    for step in range(12):
        folder = tmp_path / f"step{step}"
        folder.mkdir()
        for shard, name in enumerate(state, 1):
            save_file({name: state[name]}, folder / f"model-{shard}-of-2.safetensors")
        state = {name: tensor + 0.3 * torch.randn(80, 80) for name, tensor in state.items()}
    return tmp_path


def kinds(folder, **options):
    return [(finding.kind, finding.step) for finding in audit(folder, **options)]


def test_folders_that_were_exchanged_are_one_finding(series):
    assert audit(series) == []
    (series / "step4").rename(series / "aside")
    (series / "step7").rename(series / "step4")
    (series / "aside").rename(series / "step7")
    (finding,) = audit(series)
    assert (finding.kind, finding.step) == ("exchanged", 4)
    assert finding.says.startswith("steps 4 and 7 seem to be exchanged")


def test_a_shard_of_another_step_is_seen_where_the_other_shard_differs(series):
    (series / "step9" / "model-2-of-2.safetensors").write_bytes(
        (series / "step3" / "model-2-of-2.safetensors").read_bytes()
    )
    assert ("identical shard", 9) in kinds(series)
    assert "model-2-of-2.safetensors holds the same weights as at step 3" in str(audit(series))


def test_a_shard_that_never_changes_is_frozen_and_no_fault(series):
    for step in range(1, 12):
        (series / f"step{step}" / "model-1-of-2.safetensors").write_bytes(
            (series / "step0" / "model-1-of-2.safetensors").read_bytes()
        )
    assert audit(series) == []


@pytest.mark.parametrize("step", [0, 5, 11])
def test_a_foreign_member_is_found_wherever_it_is(series, step):
    for shard in (1, 2):
        file = series / f"step{step}" / f"model-{shard}-of-2.safetensors"
        save_file({name: torch.randn_like(value) for name, value in load_file(file).items()}, file)
    (finding,) = audit(series)
    assert (finding.kind, finding.step) == ("other run", step)


def test_checkpoints_that_do_not_descend_from_the_first_are_found_together(series):
    other = {"one": torch.randn(80, 80), "two": torch.randn(80, 80)}
    for step in range(7, 12):
        for shard, name in enumerate(other, 1):
            other[name] = other[name] + 0.3 * torch.randn(80, 80)
            save_file({name: other[name]}, series / f"step{step}" / f"model-{shard}-of-2.safetensors")
    (finding,) = audit(series)
    assert (finding.kind, finding.step) == ("other run", 7)
    assert finding.says.startswith("steps 7 to 11 (5 checkpoints) are of another run")


def test_a_series_in_reverse_is_seen_by_its_losses(series):
    falling = [2.0 - 0.1 * step + 0.02 * (-1) ** step for step in range(12)]
    assert audit(series, losses=falling) == []
    (finding,) = audit(series, losses=falling[::-1])
    assert finding.kind == "reversed"
    rising = audit(series, losses=lambda tensors: float(tensors["one"].norm()))  # which grows in a random walk
    assert [finding.kind for finding in rising] == ["reversed"]
    flat = [1.0, 1.1, 0.9, 1.05, 1.0, 0.95, 1.1, 0.9, 1.0, 1.1, 0.95, 1.01]
    assert audit(series, losses=flat) == []
    with pytest.raises(Exception, match="there are 3 losses for 12 checkpoints; give one for each"):
        audit(series, losses=[1.0, 2.0, 3.0])
