"""Sweeps and a field on a real dask cluster of loopback processes: workers and scheduler die, the results stay."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from quantascope.acquisition.learner import HSPLearner, learn
from quantascope.discovery import priority_field
from quantascope.models import MLPConfig
from quantascope.runs.engine import engine_failure, open_engine
from quantascope.runs.errors import EngineFailed, InvalidConfig, RunMismatch
from quantascope.runs.run_directory import RunDirectory
from quantascope.runs.sweep import run_all
from quantascope.sources.code import CodeConfig, train_code
from quantascope.tasks.code import corpus
from quantascope.tasks.hsp import FlatFamily
from quantascope.training import TrainingConfig

LEARNER = HSPLearner(
    family=FlatFamily(tasks=4, pool=8, distractors=0),
    model=MLPConfig(width=8),
    training=TrainingConfig(steps=2_500, evaluate_every=500),
    batch_size=64,
    panel_inputs=16,
)


def jobs(folder: Path) -> dict[Path, HSPLearner]:
    return {folder / f"seed-{seed}": LEARNER.replace({"model_seed": seed}) for seed in range(4)}


def sweep(folder: Path, engine) -> dict[str, bytes]:
    run_all(learn, jobs(folder), engine=engine, steps=lambda job: job.training.steps)
    return {path.name: (path / "metrics.parquet").read_bytes() for path in jobs(folder)}


def start(*arguments: str) -> subprocess.Popen:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "60s"}
    return subprocess.Popen([sys.executable, "-m", *arguments], env=environment, **quiet)


def start_scheduler(port: int) -> subprocess.Popen:
    process = start(
        "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show"
    )
    deadline = time.monotonic() + 60
    while not answers(port):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return process


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def start_worker(port: int) -> subprocess.Popen:
    return start(
        "distributed.cli.dask_worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-nanny",
        "--no-dashboard", "--death-timeout", "120",
    )  # fmt: skip


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen]]:
    started: list[subprocess.Popen] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def kill_when(condition, process: subprocess.Popen) -> threading.Thread:
    def wait_and_kill() -> None:
        while not condition():
            time.sleep(0.02)
        process.kill()

    thread = threading.Thread(target=wait_and_kill, daemon=True)
    thread.start()
    return thread


def test_a_sweep_survives_a_dead_worker_and_a_dead_scheduler_with_the_local_results(tmp_path, port, processes):
    """Longer than other tests: six processes are started and killed, each of which imports torch."""
    with ThreadPoolExecutor(1) as engine:
        expected = sweep(tmp_path / "local", engine)

    folder = tmp_path / "dask"
    processes += [start_scheduler(port), start_worker(port), start_worker(port)]
    scheduler, victim, _ = processes
    begun = lambda: any((path / "progress.json").exists() for path in jobs(folder))  # noqa: E731
    finished = lambda: sum((path / "metrics.parquet").exists() for path in jobs(folder)) >= 2  # noqa: E731
    killers = [kill_when(begun, victim), kill_when(finished, scheduler)]
    with open_engine(f"dask://127.0.0.1:{port}") as engine, pytest.raises(EngineFailed, match="the same command"):
        sweep(folder, engine)
    for killer in killers:
        killer.join()
    done = {path: (path / "metrics.parquet").stat().st_mtime_ns for path in jobs(folder)
            if (path / "metrics.parquet").exists()}  # fmt: skip
    assert len(done) >= 2

    processes += [start_scheduler(port), start_worker(port)]
    with open_engine(f"dask://127.0.0.1:{port}") as engine:
        assert sweep(folder, engine) == expected
    assert {path: (path / "metrics.parquet").stat().st_mtime_ns for path in done} == done


@pytest.fixture
def reader_of_code(tmp_path, monkeypatch):
    """A tiny source that reads Python, of four intervals."""
    pytest.importorskip("transformers")
    library = tmp_path / "library"
    library.mkdir()
    for file in Path(sysconfig.get_path("stdlib")).glob("*.py"):
        if file.stat().st_size < 9_000:
            shutil.copy(file, library)
    monkeypatch.setattr(corpus, "library", lambda: library)
    monkeypatch.setattr(corpus, "LENGTH", 24)
    for panel in ("HELD_OUT", "TEST"):
        monkeypatch.setattr(f"quantascope.tasks.code.task.{panel}", 14)
    config = {"blocks": 2, "width": 8, "heads": 2, "hidden": 16, "warmup": 1, "batch": 4, "learning_rate": 0.05}
    return train_code(CodeConfig.parse({**config, "steps": 4, "intervals": 4}), tmp_path / "code")


def test_the_field_of_a_reader_of_code_has_the_same_bytes_when_a_worker_dies(
    reader_of_code, tmp_path, port, processes
):
    """The victim stands still before the work is shared out, so that it holds some of it when it is killed."""
    parts = tmp_path / "parts"

    def measured(**asked) -> bytes:
        own = reader_of_code
        field = priority_field(own.trajectory, own.losses, own.layers, train=own.examples(), **asked)
        file = tmp_path / "field.safetensors"
        field.save(file, made_by="")
        return file.read_bytes()

    expected = measured()
    processes += [start_scheduler(port), start_worker(port), start_worker(port)]
    victim = processes[-1]
    with open_engine(f"dask://127.0.0.1:{port}") as engine:
        engine._client.wait_for_workers(2)
        victim.send_signal(signal.SIGSTOP)
        killer = kill_when(lambda: any(parts.glob("interval-*.safetensors")), victim)
        assert measured(engine=engine, parts=parts) == expected
    killer.join()
    assert victim.wait() == -signal.SIGKILL


def test_an_engine_that_nobody_answers_for_is_named(port, monkeypatch):
    monkeypatch.setattr("quantascope.runs.engine._SECONDS_TO_CONNECT", 0.5)
    with pytest.raises(EngineFailed, match=f"no scheduler answers at dask://127.0.0.1:{port}; start one"):
        open_engine(f"dask://127.0.0.1:{port}")


@pytest.mark.parametrize("address", ["dusk", "dask://nowhere", "tcp://127.0.0.1:8786", ""])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(InvalidConfig, match="give local, dask://HOST:PORT or tls://HOST:PORT"):
        open_engine(address)


@pytest.mark.parametrize(
    ("asked", "message"), [({"workers": 2}, "leave out --workers"), ({"threads": 0}, "at least 1")]
)
def test_what_a_cluster_cannot_be_asked_is_refused(asked, message):
    with pytest.raises(InvalidConfig, match=message):
        open_engine("dask://127.0.0.1:1", **asked)


def test_an_interrupted_sweep_takes_its_runs_back_from_the_workers(tmp_path, port, processes, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)  # a relative folder is the same for workers that stand elsewhere
    endless = LEARNER.replace({"training.steps": 1_000_000})

    def interrupt(statuses) -> None:
        if statuses[0].step:
            raise KeyboardInterrupt

    processes += [start_scheduler(port)]
    with open_engine(f"dask://127.0.0.1:{port}") as engine:
        assert f"dask://127.0.0.1:{port} has no workers yet" in caplog.text
        processes += [start_worker(port)]
        with pytest.raises(KeyboardInterrupt):
            run_all(learn, {Path("run"): endless}, engine=engine, steps=lambda job: 1_000_000, watch=interrupt)
    run = RunDirectory.open(tmp_path / "run", endless)
    assert released_within(run, seconds=20)
    assert processes[-1].poll() is None
    assert not (tmp_path / "run" / "metrics.parquet").exists()
    assert not list((tmp_path / "run").glob(".sweep-*"))


def released_within(run: RunDirectory, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with run.locked():
                return True
        except RunMismatch:
            time.sleep(0.1)
    return False


def test_a_worker_without_the_package_is_named():
    lacking = engine_failure(ModuleNotFoundError("No module named 'quantascope'", name="quantascope"))
    assert "a worker has no module 'quantascope'; install the same quantascope on all machines" in str(lacking)


def test_tls_without_certificates_is_refused_before_any_connection():
    with pytest.raises(InvalidConfig, match=r"dask has no certificates for tls://127\.0\.0\.1:1"):
        open_engine("tls://127.0.0.1:1")
