"""The server answers its own page on this machine, and nobody else."""

import gzip
import http.client
import json
import socket
import subprocess
import sys
import threading

import pytest

from quantascope.explorer import server as module
from quantascope.explorer.explorer import Explorer
from quantascope.explorer.opening import Opening
from quantascope.explorer.page_file import read_page
from quantascope.explorer.server import ExplorerServer
from quantascope.runs.errors import InvalidConfig


def serving(explorer, **options):
    server = ExplorerServer(explorer, **options)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return server


@pytest.fixture(scope="module")
def server(explorer):
    with serving(explorer) as running:
        yield running
        running.shutdown()


@pytest.fixture(scope="module")
def guarded(explorer):
    """A server that other machines could reach."""
    with serving(explorer, host="0.0.0.0") as running:
        yield running
        running.shutdown()


def ask(server, target="/api/index", method="GET", **headers):
    port = server.server_address[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    headers = {"Host": f"127.0.0.1:{port}"} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply, body


def test_the_page_is_served_under_a_policy_that_allows_its_own_script_alone(server):
    reply, body = ask(server, "/")
    assert body.decode() == read_page()
    policy = dict(part.split(" ", 1) for part in reply.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"].startswith("'sha256-")
    assert "unsafe" not in str(policy)
    assert policy["connect-src"] == "'self'"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert ask(server, "/?token=x")[0].status == 200


def test_answers_are_json_and_small_ones_travel_packed(server):
    plain, body = ask(server, "/api/runs/0/training")
    packed, short = ask(server, "/api/runs/0/training", Accept_Encoding="gzip, br")
    assert json.loads(gzip.decompress(short)) == json.loads(body)
    assert len(short) < len(body)
    assert (plain.headers["Content-Encoding"], packed.headers["Content-Encoding"]) == (None, "gzip")
    assert ask(server, "/api/index", "HEAD")[1] == b""


@pytest.mark.parametrize(
    "name",
    ["evil.example:{}", "127.0.0.1.evil.example:{}", "127.0.0.1:1", "127.0.0.1", "", "a@127.0.0.1:{}", "[::1"],
)
def test_a_foreign_host_is_refused(server, name):
    host = name.format(server.server_address[1])
    assert ask(server, Host=host)[0].status == 403
    assert ask(server, "/", Host=host)[0].status == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{}", "http://127.0.0.1", "http://localhost:{}"]
)
def test_a_foreign_origin_is_refused(server, origin):
    reply, body = ask(server, Origin=origin.format(server.server_address[1]))
    assert reply.status == 403
    assert json.loads(body) == {"error": "requests from other sites are not allowed"}
    assert reply.headers["Access-Control-Allow-Origin"] is None


def test_the_own_origin_is_let_in_and_requests_from_other_sites_are_not(server):
    port = server.server_address[1]
    assert ask(server, Origin=f"http://127.0.0.1:{port}", Sec_Fetch_Site="same-origin")[0].status == 200
    assert ask(server, Host=f"localhost:{port}")[0].status == 200
    for site in ("cross-site", "same-site"):
        assert ask(server, Sec_Fetch_Site=site)[0].status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_nothing_can_be_written(server, method):
    assert ask(server, "/api/index", method)[0].status == 501


@pytest.mark.parametrize(
    "target",
    [
        "/../../etc/passwd",
        "/static/index.html",
        "/api/../config.json",
        "/config.json",
        "//evil/",
        "/api/%2e%2e",
        "/favicon.ico",
    ],
)
def test_no_address_leads_to_a_file(server, target):
    reply, body = ask(server, target)
    assert reply.status in (403, 404)
    assert "error" in json.loads(body)


def test_mistakes_are_answered_in_one_line(server):
    reply, body = ask(server, "/api/runs/0/trace?input=0")
    assert (reply.status, json.loads(body)["error"]) == (
        400,
        "0 has no name here; give a number from 1 to 999,999",
    )
    assert ask(server, "/api/index?" + "x" * 70_000)[0].status == 414


def test_a_server_for_other_machines_asks_for_its_token(guarded):
    assert guarded.token in guarded.address
    assert ask(guarded)[0].status == 401
    assert ask(guarded, Authorization="Bearer wrong")[0].status == 401
    assert ask(guarded, Authorization=f"Bearer {guarded.token}")[0].status == 200
    assert ask(guarded, Host=f"evil.example:{guarded.server_address[1]}")[0].status == 403
    assert ask(guarded, Host=f"192.168.7.7:{guarded.server_address[1]}")[0].status == 401
    assert guarded.token.encode() not in ask(guarded, "/")[1]


def test_a_server_on_this_machine_has_no_token(server):
    assert server.token is None
    assert server.address == f"http://127.0.0.1:{server.server_address[1]}/"


def test_a_port_in_use_is_told_in_one_line(server, explorer):
    port = server.server_address[1]
    with pytest.raises(InvalidConfig, match=f"cannot listen at 127.0.0.1:{port} .*give another --port"):
        ExplorerServer(explorer, port=port)
    with pytest.raises(InvalidConfig, match="cannot listen at 127\\.0\\.0\\.1:99999"):
        ExplorerServer(explorer, port=99_999)


def test_an_answer_that_is_too_large_is_not_sent(server, monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 1000)
    reply, body = ask(server, "/api/runs/0/training")
    assert reply.status == 413
    assert "at most 1,000 are sent" in json.loads(body)["error"]


def test_a_defect_is_told_without_ending_the_server(run, monkeypatch, capsys):
    class Broken(Explorer):
        def answer(self, asked):
            raise ZeroDivisionError("secret")

    with serving(Broken([], "")) as running:
        reply, body = ask(running)
        assert (reply.status, "ZeroDivisionError" in json.loads(body)["error"]) == (500, True)
        assert b"secret" not in body
        assert ask(running, "/")[0].status == 200
        running.shutdown()
    assert "secret" in capsys.readouterr().err


def test_the_page_is_there_while_runs_are_opened_and_its_questions_wait(explorer):
    opening, answers = Opening(), []
    with serving(opening) as running:
        asking = threading.Thread(target=lambda: answers.append(ask(running)))
        asking.start()
        assert ask(running, "/")[0].status == 200
        assert not answers
        opening.finish(lambda: explorer)
        asking.join()
        assert answers[0][0].status == 200
        running.shutdown()


def test_a_run_that_cannot_be_opened_is_told_to_the_page_too():
    def fail():
        raise InvalidConfig("this is no run")

    opening = Opening()
    with serving(opening) as running:
        with pytest.raises(InvalidConfig):
            opening.finish(fail)
        reply, body = ask(running)
        assert (reply.status, json.loads(body)) == (400, {"error": "this is no run"})
        running.shutdown()


CTRL_C = """
import io, os, signal, threading, time, polars
from quantascope.explorer.opening import Opening
from quantascope.explorer.server import ExplorerServer

file = io.BytesIO()
polars.DataFrame({"a": [1]}).write_parquet(file)
polars.read_parquet(file.getvalue())  # from here on it handles SIGINT, too
def interrupt():
    time.sleep(1)  # what is late here is seen all the same
    os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGTERM, signal.default_int_handler)
with ExplorerServer(Opening()) as server:
    try:
        server.serve(threading.Thread(target=interrupt).start)
    except KeyboardInterrupt:
        print("ended")
"""


def test_ctrl_c_ends_a_server_whose_signals_polars_also_handles():
    done = subprocess.run([sys.executable, "-c", CTRL_C], capture_output=True, text=True, timeout=300)
    assert done.stdout == "ended\n", done.stderr


def test_connections_that_say_nothing_do_not_take_the_place_of_others(explorer, monkeypatch):
    monkeypatch.setattr(module._Handler, "timeout", 0.2)
    with serving(explorer) as running:
        silent = [socket.create_connection(running.server_address[:2]) for _ in range(module.MOST_AT_ONCE)]
        for one in silent:
            assert one.recv(1) == b""  # closed after its patience
            one.close()
        monkeypatch.undo()  # a busy machine may need longer than that to ask
        assert ask(running)[0].status == 200
        running.shutdown()
