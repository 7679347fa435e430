"""A child gives its result, or ends: by its limit, with its parent, or by itself."""

import enum
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pytest

from quantascope.program.state import State
from quantascope.program.violations import UnseenDependency
from quantascope.runs.errors import InvalidConfig
from quantascope.runs.isolation import Crashed, Progress, TimedOut, Unsendable, run_isolated


def isolated(work, seconds=20.0, **more):
    return run_isolated(lambda progress: work(), seconds=seconds, **more)


def has_ended(pid: int) -> bool:
    """Whether a process is gone, waiting for it a while."""
    for _ in range(2000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_the_result_is_that_of_the_work_in_another_process():
    value, pid = isolated(lambda: ({"a": [1, 2.5, None]}, os.getpid()))
    assert value == {"a": [1, 2.5, None]}
    assert pid != os.getpid()
    assert has_ended(pid)


def test_a_result_larger_than_a_pipe_arrives_whole():
    assert isolated(lambda: bytes(range(256)) * 40_000) == bytes(range(256)) * 40_000


def test_values_of_classes_that_cannot_be_imported_keep_their_class():
    class Size(enum.Enum):
        SMALL, LARGE = range(2)

    @dataclass(frozen=True)
    class Pair:
        first: object
        second: Size

    found = isolated(lambda: [Pair(1, Size.LARGE), Size])
    assert found == [Pair(1, Size.LARGE), Size]
    assert found[0].second is Size.LARGE


def test_shared_objects_are_the_same_objects():
    one = lambda: 0  # noqa: E731
    found = isolated(lambda: {"one": (one, 5)}, shared=[one])
    assert found["one"][0] is one


def a_class_of_the_run():
    class New:
        pass

    return New()


def never_read():
    return Never()


class Never:
    def __setstate__(self, state):
        raise ValueError("no")

    def __getstate__(self):
        return {"a": 1}


@pytest.mark.parametrize(
    ("work", "says"),
    [
        (lambda: (n for n in range(3)), "cannot pickle 'generator' object"),
        (lambda: lambda: 0, "TypeError|AttributeError|PicklingError"),
        (a_class_of_the_run, "its class is created again in every run"),
        (never_read, "ValueError: no"),
    ],
)
def test_a_result_that_cannot_be_sent_is_told_in_one_line(work, says):
    with pytest.raises(Unsendable, match=says) as caught:
        isolated(work)
    assert "; " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_error_arrives_with_its_type_text_and_attributes():
    source = object()

    def work():
        raise UnseenDependency("the edge", "add it", quantum="Q", state=State(source, ("a",)))

    with pytest.raises(UnseenDependency) as caught:
        isolated(work, shared=[source])
    assert str(caught.value) == str(
        UnseenDependency("the edge", "add it", quantum="Q", state=State(source, ("a",)))
    )
    assert caught.value.state.source is source
    assert caught.value.quantum == "Q"


def test_an_error_about_something_that_cannot_be_sent_still_arrives():
    def work():
        raise UnseenDependency("the edge", "add it", state=State(open(os.devnull)))  # noqa: SIM115, PTH123

    with pytest.raises(UnseenDependency, match=r"on input <_io.TextIOWrapper .*: the edge; add it") as caught:
        isolated(work)
    assert caught.value.state is None


def test_a_defect_comes_with_its_traceback():
    with pytest.raises(RuntimeError, match="ZeroDivisionError: ") as caught:
        isolated(lambda: 1 // 0)
    assert "test_run.py" in caught.value.__notes__[0]


def test_time_is_counted_from_the_last_progress():
    def work(progress: Progress) -> str:
        for number in range(3):
            progress.at(number)
            time.sleep(0.9)
        return "done"

    assert run_isolated(work, seconds=2.0) == "done"


def test_a_timeout_tells_the_last_step_and_the_line(monkeypatch):
    monkeypatch.setattr("quantascope.runs.isolation.run.TELLING", 40.0)

    def work(progress: Progress) -> bool:
        progress.at(7, 3)
        return 1 in itertools.repeat(0)

    with pytest.raises(TimedOut) as caught:
        run_isolated(work, seconds=0.5)
    assert (caught.value.item, caught.value.part) == (7, 3)
    assert caught.value.place.endswith(f"test_run.py:{work.__code__.co_firstlineno + 2}")


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr("quantascope.runs.isolation.child.MEMORY", 1 << 28)
    assert len(isolated(lambda: bytes(1 << 27))) == 1 << 27
    with pytest.raises(RuntimeError, match="MemoryError"):
        isolated(lambda: bytes(1 << 29) and None)


def test_a_process_that_is_left_behind_ends_with_the_child():
    def work():
        left = subprocess.Popen(["sleep", "1000"])
        left.returncode = 0  # so that nobody waits for it
        forked = os.fork()
        while not forked:
            time.sleep(1)
        return left.pid, forked

    assert all(has_ended(pid) for pid in isolated(work))


def test_a_forked_process_that_holds_the_pipes_does_not_hold_the_parent():
    def work():
        if os.fork():
            os._exit(3)
        os.setsid()
        time.sleep(5)

    with pytest.raises(Crashed, match="exit code 3"):
        isolated(work)


def test_closed_pipes_are_told_as_a_crash():
    with pytest.raises(Crashed, match="exit code 1"):
        isolated(lambda: os.closerange(3, 1000))


def test_a_child_of_a_thread_is_ended_too():
    found = []

    def target():
        try:
            isolated(lambda: sum(range(10**11)), seconds=0.5)
        except TimedOut as end:
            found.append(end.what)
        found.append(isolated(threading.active_count))

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    assert found == ["runs for more than 0.5 seconds", 1]


def loops_in_a_worker() -> str:
    try:
        return str(isolated(lambda: sum(range(10**11)), seconds=0.5))
    except TimedOut as end:
        return end.what


def test_a_worker_process_can_isolate_and_an_error_passes_through_it():
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        assert pool.submit(loops_in_a_worker).result() == "runs for more than 0.5 seconds"
        error = pool.submit(UnseenDependency, "the edge", "add it", quantum="Q", state=State(1)).result()
    assert str(error) == "quantum Q, on input 1: the edge; add it"


def test_children_can_have_children():
    assert isolated(lambda: isolated(lambda: 5) + 1) == 6
    with pytest.raises(TimedOut):
        isolated(lambda: isolated(lambda: sum(range(10**11))), seconds=0.5)


def test_chance_goes_on_as_in_the_parent():
    random.seed(3)
    inside = isolated(random.random)
    assert inside == random.random()


SCRIPT = """
import os, sys, time
from quantascope.runs.isolation import run_isolated

def work(progress):
    print(os.getpid(), file=sys.stderr, flush=True)
    sum(range(10**11))

try:
    run_isolated(work, seconds=600.0)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(("end", "says"), [(signal.SIGINT, "interrupted\n"), (signal.SIGKILL, "")])
def test_the_child_ends_with_its_parent(end, says):
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=-1, stderr=-1, text=True)
    assert parent.stderr is not None
    child = int(parent.stderr.readline())
    parent.send_signal(end)
    said, _ = parent.communicate()
    assert said == says
    assert has_ended(child)


def test_a_broken_limit_is_told(monkeypatch):
    from quantascope.runs.isolation import time_limit

    assert time_limit(3.0) == 3.0
    monkeypatch.setenv("QUANTASCOPE_TIME_LIMIT", "0.25")
    assert time_limit(3.0) == 0.25
    for text in ("-1", "nan", "inf", "x"):
        monkeypatch.setenv("QUANTASCOPE_TIME_LIMIT", text)
        with pytest.raises(InvalidConfig, match=f"QUANTASCOPE_TIME_LIMIT is '{text}'; set it to a number"):
            time_limit()
