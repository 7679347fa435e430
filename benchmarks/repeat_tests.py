"""Run tests again and again while both cores are busy: a test that fails once in twenty is a defect.

    python benchmarks/repeat_tests.py                       files about processes, signals, sockets, time, locks
    python benchmarks/repeat_tests.py --times 5 tests/runs  those of some folders, or some files
    python benchmarks/repeat_tests.py --json FILE           keep the counts, beside those of other files

Two processes that compute without end run beside the tests, unless `--load` says another number. Each file has a
process of its own.
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WORDS = re.compile(
    r"subprocess|multiprocessing|ProcessPool|os\.fork|os\.kill|signal\.|HTTPServer|socket|threading|time\.sleep|"
    r"flock|locked\(|LocalCluster|QUANTASCOPE_TIME_LIMIT|KeyboardInterrupt"
)
"""What a test says that involves other processes, or the time."""
BUSY = "while True: sum(range(10**6))"


def sensitive(folder: Path) -> list[Path]:
    """The test files that involve processes, signals, sockets, time or locks."""
    return [file for file in sorted(folder.rglob("test_*.py")) if WORDS.search(file.read_text())]


@contextlib.contextmanager
def load(processes: int) -> Iterator[None]:
    """So many busy processes, as long as the block runs."""
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def repeated(file: Path, times: int) -> tuple[int, list[str]]:
    """How many tests of a file ran, run so many times, and the names of those that failed, once for each time."""
    options = ["-q", "-p", "no:cacheprovider", "--tb=no", "-rfE", "--keep-duplicates"]
    command = [sys.executable, "-m", "pytest", *options, *[str(file)] * times]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
    # A dot is a test that passed; any other letter is named in the summary.
    passed = sum(line.count(".") for line in said.splitlines() if re.fullmatch(r"[.FEsx]+( +\[ *\d+%\])?", line))
    return passed + len(failed), failed


def main() -> int:
    """Print the runs and failures of each file; 1 if any test failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="test files or folders")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--load", type=int, default=2, help="busy processes beside the tests")
    parser.add_argument("--json", type=Path, help="keep the counts in this file, beside those of other files")
    asked = parser.parse_args()
    given = asked.files or [Path("tests")]
    files = [file for one in given for file in ([one] if one.is_file() else sensitive(one))]
    counts: dict[str, dict[str, Any]] = {}
    with load(asked.load):
        for file in files:
            tests, failed = repeated(file, asked.times)
            measured = round(os.getloadavg()[0], 1)
            counts[str(file)] = {"times": asked.times, "tests": tests, "load_average": measured, "failed": failed}
            print(
                f"{file}: {asked.times} times, {tests} tests, {len(failed)} failures {' '.join(failed)}",
                flush=True,
            )
            if asked.json:
                kept = json.loads(asked.json.read_text()) if asked.json.exists() else {}
                asked.json.write_text(json.dumps(dict(sorted((kept | counts).items())), indent=2) + "\n")
    return int(any(one["failed"] or not one["tests"] for one in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
