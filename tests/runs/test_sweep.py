"""Sweeps on real engines: the same results, no oversubscription, and clear ends."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from quantascope.runs.config import Config
from quantascope.runs.engine import cores, local_engine
from quantascope.runs.errors import EngineFailed, InvalidConfig
from quantascope.runs.files import is_held
from quantascope.runs.run_directory import RunDirectory
from quantascope.runs.sweep import RunStatus, _work_noting_progress, run_all


class Square(Config):
    number: int
    deadly: bool = False


def write_square(config: Square, path: Path, progress) -> None:
    if config.deadly:
        os.kill(os.getpid(), 9)
    RunDirectory.open(path, config)
    if progress:
        progress(1, 0.5)
    (path / "square").write_text(f"{config.number**2} {torch.get_num_threads()}")


def refuse(config: Square, path: Path, progress) -> None:
    if config.number == 1:
        raise InvalidConfig("one is not welcome")
    time.sleep(300)


def test_a_process_pool_and_threads_give_the_same_results_with_the_asked_threads(tmp_path):
    outcomes = []
    for name, engine in (("pool", local_engine(threads=1, workers=2)), ("threads", ThreadPoolExecutor(1))):
        seen: list[list[RunStatus]] = []
        with engine:
            jobs = {tmp_path / name / str(n): Square(number=n) for n in range(3)}
            run_all(write_square, jobs, engine=engine, steps=lambda job: 1, watch=seen.append)
        outcomes.append([(path / "square").read_text() for path in jobs])
        assert all(status.finished for status in seen[-1])
        assert not any(path.with_name("progress.json").exists() for path in jobs)
    assert outcomes == [["0 1", "1 1", "4 1"]] * 2


def test_the_default_pool_fills_the_cores_and_no_more():
    with local_engine(threads=1) as engine:
        assert engine._max_workers == cores()
    with local_engine(threads=cores()) as engine:
        assert engine._max_workers == 1


@pytest.mark.parametrize("asked", [{"threads": 0}, {"workers": 0}])
def test_no_threads_or_no_workers_is_refused(asked):
    with pytest.raises(InvalidConfig, match="at least 1"):
        local_engine(**asked)


def test_a_worker_that_dies_is_reported_with_the_way_on(tmp_path):
    with (
        local_engine(workers=1) as engine,
        pytest.raises(EngineFailed, match=r"a worker process died.*run the same command to resume"),
    ):
        run_all(write_square, {tmp_path / "x": Square(number=1, deadly=True)}, engine=engine, steps=lambda job: 1)


ORPHAN_MAKER = """
import sys, time
from pathlib import Path
from quantascope.runs.engine import local_engine
sys.path.insert(0, sys.argv[2])
from sleeper import sleep
if __name__ == "__main__":
    engine = local_engine(workers=1)
    engine.submit(sleep, Path(sys.argv[1]))
    time.sleep(60)
"""


def test_workers_end_with_the_process_that_started_them_even_if_it_is_killed(tmp_path):
    (tmp_path / "sleeper.py").write_text(
        "import os, time\ndef sleep(file):\n    file.write_text(str(os.getpid()))\n    time.sleep(60)\n"
    )
    (tmp_path / "parent.py").write_text(ORPHAN_MAKER)
    file = tmp_path / "worker"
    parent = subprocess.Popen([sys.executable, tmp_path / "parent.py", file, tmp_path])
    wait_for(lambda: file.exists() and file.read_text() != "")
    parent.kill()
    parent.wait()
    worker = int(file.read_text())
    wait_for(lambda: not alive(worker))
    assert not alive(worker)


def wait_for(condition, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_the_first_error_ends_the_sweep_without_waiting_for_the_rest(tmp_path):
    began = time.monotonic()
    with local_engine(workers=2) as engine, pytest.raises(InvalidConfig, match="one is not welcome"):
        run_all(
            refuse, {tmp_path / str(n): Square(number=n) for n in range(4)}, engine=engine, steps=lambda job: 1
        )
    assert time.monotonic() - began < 200


def keep_away(config: Square, path: Path, progress) -> None:
    raise AssertionError("a run that nobody can read must not begin")


class Elsewhere(ThreadPoolExecutor):
    """Workers on another disk, where what the sweep wrote is missing."""

    def submit(self, fn, /, work, config, path, ticket):
        return super().submit(fn, work, config, path, ticket.with_name("unseen"))


def test_workers_that_do_not_share_the_folder_are_found_out_before_they_train(tmp_path):
    with (
        Elsewhere(1) as engine,
        pytest.raises(
            EngineFailed, match=r"a worker does not see .* give --out on a disk that all machines share"
        ),
    ):
        run_all(keep_away, {tmp_path / "x": Square(number=1)}, engine=engine, steps=lambda job: 1)
    assert not list(tmp_path.rglob(".sweep-*"))


SWEEP = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from quantascope.runs.config import Config
from quantascope.runs.sweep import run_all

class Wait(Config):
    pass

def wait(config, path, progress):
    print("waiting", flush=True)
    time.sleep(300)

run_all(wait, {Path(sys.argv[1]) / "run": Wait()}, engine=ThreadPoolExecutor(1), steps=lambda job: 1)
"""


def test_a_killed_sweep_does_not_look_alive_and_its_ticket_is_removed(tmp_path):
    with subprocess.Popen([sys.executable, "-c", SWEEP, str(tmp_path)], stdout=subprocess.PIPE) as sweep:
        sweep.stdout.readline()
        (ticket,) = tmp_path.glob("run/.sweep-*")
        assert is_held(ticket)
        sweep.kill()
    assert ticket.exists()
    assert not is_held(ticket)
    os.utime(ticket, (0, 0))  # a minute later
    with pytest.raises(EngineFailed, match="has ended"):
        _work_noting_progress(write_square, Square(number=2), tmp_path / "late", ticket)
    with ThreadPoolExecutor(1) as engine:
        run_all(write_square, {tmp_path / "run": Square(number=2)}, engine=engine, steps=lambda job: 1)
    assert list(tmp_path.rglob(".sweep-*")) == []


def test_workers_import_nothing_from_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text(f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n")
    monkeypatch.chdir(tmp_path)
    with local_engine(workers=1) as engine:
        assert engine.submit(pow, 2, 10).result() == 1024
    assert not (tmp_path / "ran").exists()
