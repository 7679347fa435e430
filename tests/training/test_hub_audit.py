"""The audit of a hub series, against a server on loopback that speaks the two endpoints it asks."""

import hashlib
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pytest

from quantascope.runs.errors import DamagedArtefact, InvalidConfig
from quantascope.training.hub_audit import audit_hub

pytest.importorskip("huggingface_hub")


class Hub(ThreadingHTTPServer):
    """Models as name → revision → path → content."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.models, self.asked = {}, []

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append((path, self.headers.get("authorization")))
        name, _, rest = path.removeprefix("/api/models/").partition("/refs")
        if "/tree/" in path:
            name, _, rest = path.removeprefix("/api/models/").partition("/tree/")
        model = self.server.models.get(name)
        if model is None:
            self.answer(404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
        elif "/tree/" in path:
            self.answer(200, [entry(file, content) for file, content in model[rest].items()])
        else:
            refs = [{"name": one, "ref": f"refs/heads/{one}", "targetCommit": "0" * 40} for one in model]
            self.answer(200, {"branches": refs, "converts": [], "tags": []})

    def answer(self, code, body, headers=()):
        self.send_response(code)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


def entry(path, content):
    digest = hashlib.sha256(content.encode()).hexdigest()
    large = {"lfs": {"oid": digest, "size": len(content), "pointerSize": 1}} if "model" in path else {}
    return {"type": "file", "path": path, "size": len(content), "oid": digest[:40], **large}


@pytest.fixture
def hub():
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def sharded(step, shards=3):
    files = {f"model-{at:05d}-of-{shards:05d}.safetensors": f"{step} {at}" for at in range(1, shards + 1)}
    return {"config.json": "{}", "model.safetensors.index.json": "{}", "tokenizer.bin.json": "", **files}


def series(*steps):
    return {"main": sharded(steps[-1]), **{f"step{step}": sharded(step) for step in steps}}


def found(hub, **options):
    findings = audit_hub("owner/name", endpoint=hub.endpoint, **options)
    return [(finding.kind, finding.step, finding.says) for finding in findings]


def test_a_sound_series_has_nothing_wrong_and_only_metadata_is_asked_for(hub):
    hub.models["owner/name"] = series(0, 1, 2, 4, 8)
    assert found(hub) == []
    paths = [path for path, _ in hub.asked]
    assert paths[0] == "/api/models/owner/name/refs"
    assert sorted(paths[1:]) == [f"/api/models/owner/name/tree/step{step}" for step in (0, 1, 2, 4, 8)]
    assert {token for _, token in hub.asked} == {None}


def test_the_same_shard_under_two_steps_is_named(hub):
    hub.models["owner/name"] = series(0, 10, 20)
    same = hub.models["owner/name"]["step10"]["model-00002-of-00003.safetensors"]
    hub.models["owner/name"]["step20"]["model-00002-of-00003.safetensors"] = same
    says = "step 20: model-00002-of-00003.safetensors is the same file as at step 10"
    assert found(hub) == [("identical file", 20, says)]


def test_missing_shards_missing_steps_and_doubled_steps_are_named(hub):
    model = hub.models["owner/name"] = series(0, 10, 20, 30, 40, 60, 70, 80)
    del model["step30"]["model-00001-of-00003.safetensors"]
    model["step40"] = {"model.safetensors.index.json": "{}"}
    model["step60-again"] = sharded(61)
    assert found(hub) == [
        ("duplicated step", 60, "step 60 is there 2 times: step60, step60-again"),
        ("missing step", 50, "step 50 is missing"),
        ("missing shard", 30, "step 30: .safetensors shard 1 of 3 is missing"),
        ("missing shard", 40, "step 40 has an index of .safetensors shards, but none"),
    ]
    assert ("missing step", 90, "step 90 is missing") in found(hub, expected=(0, 90))


def test_stages_are_audited_one_at_a_time(hub):
    names = [f"stage1-step{step}-tokens{step}B" for step in (1, 2, 3)] + ["stage2-ingredient1-step1-tokens1B"]
    hub.models["owner/name"] = {"main": {}, **{name: sharded(name) for name in names}}
    with pytest.raises(DamagedArtefact, match="several branches of training"):
        found(hub)
    assert found(hub, branch="stage1") == []


def test_folders_of_the_main_revision_are_steps_if_no_revision_is(hub):
    files = {f"checkpoint-{step}/model.safetensors": str(step % 3) for step in (1, 2, 3, 4)}
    hub.models["owner/name"] = {"main": files, "fp16": {}}
    says = "step 4: model.safetensors is the same file as at step 1"
    assert found(hub) == [("identical file", 4, says)]


def test_what_cannot_be_asked_is_one_line_with_a_remedy(hub, monkeypatch):
    with pytest.raises(
        InvalidConfig, match=r"there is no public model http\S*/owner/name; check its name, or give a token"
    ):
        found(hub)
    with pytest.raises(InvalidConfig, match="'a/b/c' is not the name of a model on the hub; give OWNER/NAME"):
        audit_hub("a/b/c", endpoint=hub.endpoint)
    hub.models["owner/name"] = {"main": sharded(1)}
    with pytest.raises(InvalidConfig, match="has no checkpoints by step in 1 revisions"):
        found(hub)
    with pytest.raises(
        InvalidConfig, match=r"cannot ask http://127\.0\.0\.1:9/owner/name \(.*\); check the network"
    ):
        audit_hub("owner/name", endpoint="http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "huggingface_hub.hf_api", None)
    with pytest.raises(InvalidConfig, match="huggingface_hub is not installed; pip install"):
        found(hub)
