"""The compiled Q-model against a plain one, quantum by quantum and event by event."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from quantascope.qmodel import CompiledConfig, CompiledQModel, SupervisedQModel, gate_loss
from quantascope.qmodel.compiled.authors import output_places
from quantascope.qmodel.compiled.saved import load_qmodel, save_qmodel
from quantascope.quanta.graph import Edge, QGraph
from quantascope.runs.errors import InvalidConfig
from quantascope.tasks.events import Events

# Names out of order of level, a join (D has B and C above, A above both), a leaf beside an inner node.
GRAPH = QGraph(
    ("D", "A", "E", "B", "C"),
    (Edge(1, 3), Edge(1, 4), Edge(3, 0), Edge(4, 0), Edge(1, 2)),
    emitters=(0, 2),
)
EVENTS = Events.of(prompts=[[1, 6, 2], [1, 7, 7, 2], [1, 8, 2]], outputs=[[5, 3], [5, 9, 3], [4, 3]])
TOLERANCE = {"atol": 1e-5, "rtol": 1e-4}


@pytest.fixture
def model() -> CompiledQModel:
    return CompiledQModel(graph=GRAPH, vocabulary=12, positions=10, config=CompiledConfig(width=8), seed=3)


def plain_run(model: CompiledQModel, example: int, position: int, routing=None):
    """One event as the equations say: activity, content by quantum, and logits."""
    tokens = EVENTS.tokens[example][: position + 1]
    first = int(EVENTS.position[EVENTS.example == example].min())
    memory = torch.stack(
        [
            model.embedding.weight[token] + model.position.weight[at] + model.segment.weight[int(at > first)]
            for at, token in enumerate(tokens)
        ]
    )
    start = model.start(memory[-1])
    order = [quantum for level in GRAPH.by_level for quantum in level]
    activity, messages = {}, {}
    for row, quantum in enumerate(order):
        above = start + sum((messages[a] for a in GRAPH.ancestors(quantum)), torch.zeros(8))
        query = model.query(model.query_norm(above)) + model.query_bias[row, 0]
        weights = (model.key(memory) @ query / math.sqrt(8)).softmax(0)
        state = above + model.out(weights @ model.value(memory))
        cells = model.cells
        normed = functional.layer_norm(state, (8,), cells.scale[row, 0], cells.shift[row, 0])
        hidden = functional.gelu(normed @ cells.up[row] + cells.up_bias[row, 0])
        content = hidden @ cells.down[row] + cells.down_bias[row, 0]
        gate = torch.sigmoid(normed @ cells.gate[row] + cells.gate_bias[row, 0])[0]
        own = min([gate, *(activity[parent] for parent in GRAPH.parents(quantum))])
        activity[quantum] = own if routing is None else routing[quantum]
        messages[quantum] = activity[quantum] * content
    return activity, messages, model.head(start + messages[0] + messages[2])


@pytest.mark.parametrize("oracle", [False, True])
def test_levels_at_once_equal_quanta_one_by_one(model, oracle):
    routing = (torch.rand(5, EVENTS.count) > 0.4).float() if oracle else None
    execution = model.run(EVENTS, routing)
    for event in range(EVENTS.count):
        example, position = int(EVENTS.example[event]), int(EVENTS.position[event])
        given = None if routing is None else routing[:, event]
        activity, message, logits = plain_run(model, example, position, given)
        torch.testing.assert_close(execution.logits[event], logits, **TOLERANCE)
        for quantum in range(5):
            torch.testing.assert_close(execution.activity[quantum, event], activity[quantum], **TOLERANCE)
            torch.testing.assert_close(execution.message[quantum, event], message[quantum], **TOLERANCE)


def test_level_sums_are_the_messages_of_each_level(model):
    execution = model.run(EVENTS)
    message = execution.message
    expected = torch.stack([message[1], message[2] + message[3] + message[4], message[0]], 1)
    torch.testing.assert_close(execution.level_sums(GRAPH), expected)


def test_activity_is_downward_closed(model):
    with torch.no_grad():
        model.cells.gate.normal_(0, 5)
    activity = model.run(EVENTS).activity
    for edge in GRAPH.edges:
        assert (activity[edge.child] <= activity[edge.parent]).all()
    assert activity.min() < 0.2


def test_the_task_teaches_no_gate_and_the_gate_labels_do(model):
    execution = model.run(EVENTS)
    functional.cross_entropy(execution.logits, EVENTS.target).backward()
    assert model.cells.gate.grad is None or not model.cells.gate.grad.any()
    assert model.cells.up.grad.abs().sum() > 0
    labels = torch.ones_like(execution.gate, dtype=torch.bool)
    gate_loss(model.run(EVENTS).gate, labels, labels).backward()
    assert (model.cells.gate.grad.abs().sum((1, 2)) > 0).all()


def test_later_tokens_change_nothing(model):
    other = Events.of(prompts=[[1, 6, 2], [1, 7, 7, 2], [1, 8, 2]], outputs=[[5, 3], [5, 11, 3], [4, 3]])
    same = EVENTS.index < 2
    assert torch.equal(model(EVENTS)[same], model(other)[same])
    assert not torch.equal(model(EVENTS)[~same], model(other)[~same])


def test_the_same_seed_makes_the_same_model():
    made = [
        CompiledQModel(graph=GRAPH, vocabulary=12, positions=10, config=CompiledConfig(width=8), seed=seed)(EVENTS)
        for seed in (0, 0, 1)
    ]
    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])


def test_a_graph_without_emitters_is_refused():
    with pytest.raises(InvalidConfig, match="no emitters"):
        CompiledQModel(
            graph=QGraph(("A",), ()), vocabulary=12, positions=10, config=CompiledConfig(width=8), seed=0
        )


def test_a_stored_model_runs_the_same(model, tmp_path):
    words = tuple(f"w{i}" for i in range(12))
    save_qmodel(tmp_path / "q.safetensors", model, words, made_by="x")
    loaded, vocabulary = load_qmodel(tmp_path / "q.safetensors")
    assert torch.equal(loaded(EVENTS), model(EVENTS))
    assert (vocabulary, loaded.graph) == (words, GRAPH)


def test_gate_loss_counts_classes_and_quanta_alike():
    torch.manual_seed(0)
    gate, active = torch.randn(3, 9), torch.rand(3, 9) > 0.6
    eligible = torch.rand(3, 9) > 0.3
    active[1] = True
    eligible[2] = False
    means = []
    for quantum in (0, 1):
        sides = []
        for side in (True, False):
            seen = [i for i in range(9) if eligible[quantum, i] and bool(active[quantum, i]) == side]
            sign = 1 if side else -1
            losses = [math.log1p(math.exp(-sign * float(gate[quantum, i]))) for i in seen]
            sides += [sum(losses) / len(losses)] if losses else []
        means.append(sum(sides) / len(sides))
    assert gate_loss(gate, active, eligible).item() == pytest.approx(sum(means) / 2, rel=1e-5)


def test_semantic_heads_learn_where_quanta_run_and_are_not_part_of_the_model(model):
    supervised = SupervisedQModel(model, (1, 3, 25, 2, 4), seed=0)
    assert supervised.taught == [1, 3, 4]
    own = {name for name, _ in model.named_parameters()}
    assert own == {n.removeprefix("model.") for n, _ in supervised.named_parameters() if n.startswith("model.")}
    execution = model.run(EVENTS)
    outcome = torch.full((5, EVENTS.count), -1)
    outcome[1, :4] = torch.tensor([0, 2, 1, 1])
    outcome[4, 2:5] = torch.tensor([3, 0, 3])
    expected = []
    for head, (quantum, count) in enumerate([(1, 3), (3, 2), (4, 4)]):
        logits = execution.message[quantum] @ supervised.weight[head] + supervised.bias[head]
        kept = outcome[quantum] >= 0
        if kept.any():
            expected.append(functional.cross_entropy(logits[kept][:, :count], outcome[quantum][kept]))
    loss = supervised.semantic_loss(execution, outcome)
    torch.testing.assert_close(loss, torch.stack(expected).mean())


def test_noise_disturbs_active_messages_alone(model):
    first, last = 1, 0
    routing = torch.ones(5, EVENTS.count)
    routing[last] = 0
    torch.manual_seed(0)
    quiet, noisy = model.run(EVENTS, routing), model.run(EVENTS, routing, noise=0.5)
    assert 0.3 < (noisy.message[first] - quiet.message[first]).std() < 0.7
    assert not noisy.message[last].any()


def drawn_as_released(seed, counts):
    """The released modules in their order: embeddings, shared maps, quanta by name, head, semantic heads."""
    torch.manual_seed(seed)
    found = {"embedding": nn.Embedding(12, 8, padding_idx=0), "position": nn.Embedding(10, 8)}
    found |= {"segment": nn.Embedding(2, 8)}
    found |= {name: nn.Linear(8, 8) for name in ("start", "key", "value", "query", "out")}
    for name in sorted(GRAPH.names):
        found |= {f"{name}.up": nn.Linear(8, 8), f"{name}.down": nn.Linear(8, 8), f"{name}.gate": nn.Linear(8, 1)}
    found["head"] = nn.Linear(8, 12)
    end = torch.get_rng_state()
    heads = {name: nn.Linear(8, counts[name]) for name in sorted(counts)}
    return found, heads, end


def test_the_papers_initialisation_draws_the_released_modules_in_their_order():
    config = CompiledConfig(width=8, initialization="paper")
    model = CompiledQModel(graph=GRAPH, vocabulary=12, positions=10, config=config, seed=3)
    found, heads, end = drawn_as_released(3, {"D": 3, "B": 2})
    own = dict(model.named_parameters())
    for name in ("embedding", "position", "segment", "start", "key", "value", "query", "out", "head"):
        for part, weight in found[name].named_parameters():
            assert torch.equal(own[f"{name}.{part}"], weight), name
    order = [quantum for level in GRAPH.by_level for quantum in level]
    for row, quantum in enumerate(order):
        for part in ("up", "down", "gate"):
            drawn = found[f"{GRAPH.names[quantum]}.{part}"]
            assert torch.equal(own[f"cells.{part}"][row], drawn.weight.T)
            assert torch.equal(own[f"cells.{part}_bias"][row, 0], drawn.bias)
    assert not own["query_bias"].any()
    assert torch.equal(model.drawn_to, end)

    places = [[2, 0, 1], [], [], [1, 0], []]
    supervised = SupervisedQModel(model, (3, 1, 1, 2, 25), seed=9, reads="contents", places=places)
    for row, name in enumerate(("D", "B")):
        place = places[GRAPH.names.index(name)]
        for code, at in enumerate(place):
            assert torch.equal(supervised.weight[row, :, code], heads[name].weight[at])
            assert supervised.bias[row, 0, code] == heads[name].bias[at]


def test_heads_that_read_contents_do_not_depend_on_the_gates():
    model = CompiledQModel(graph=GRAPH, vocabulary=12, positions=10, config=CompiledConfig(width=8), seed=3)
    reading = {of: SupervisedQModel(model, (1, 3, 1, 2, 4), seed=0, reads=of) for of in ("messages", "contents")}
    open_, closed = torch.ones(5, EVENTS.count), torch.ones(5, EVENTS.count)
    closed[1] = 0  # the root "A", whose content no other quantum changes
    logits = {
        of: [supervised.semantic_logits(model.run(EVENTS, routing))[0, :, :3] for routing in (open_, closed)]
        for of, supervised in reading.items()
    }
    assert torch.equal(*logits["contents"])
    assert not torch.equal(*logits["messages"])
    assert torch.equal(logits["contents"][0], logits["messages"][0])


def test_outputs_stand_in_order_of_their_text():
    assert output_places([9, 1, 19, 2]) == [3, 0, 1, 2]
    assert output_places(["tens", "eight"]) == [1, 0]
