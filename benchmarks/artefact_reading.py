"""What checking a digest costs: time of the check over the time of reading, side by side in one run.

Three files: a checkpoint of the reference source (0.1 MB), one of 256 MB from the page cache, and that from disk.
Reading is `read_tensors` and a copy of every tensor, as loading it into a network makes one. Rounds with and
without the check take turns, and the least of many rounds counts, which other work on the machine moves little.
What is short is repeated within a round, since no clock is exact to microseconds. The digests that were weighed
are timed on the same bytes: CRC-32 is the fastest that the standard library has, XXH3 is the one in use.

    python benchmarks/artefact_reading.py [--json FILE]
"""

import argparse
import hashlib
import json
import os
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import xxhash

from quantascope.models import Transformer, TransformerConfig
from quantascope.runs import artefact
from quantascope.runs.artefact import read_tensors, write_tensors

ROUNDS = 9

Work = Callable[[], Any]


def seconds(*works: Work, before: Work = lambda: None, rounds: int = ROUNDS, repeat: int = 1) -> list[float]:
    """The least time of each work over several rounds, in which they take turns and each is repeated."""
    least = [float("inf")] * len(works)
    for _ in range(rounds):
        for place, work in enumerate(works):
            before()
            start = time.perf_counter()
            for _ in range(repeat):
                work()
            least[place] = min(least[place], (time.perf_counter() - start) / repeat)
    return least


def read(file: Path) -> dict[str, torch.Tensor]:
    """The tensors of a file, copied."""
    return {name: tensor.clone() for name, tensor in read_tensors(file, made_by="here")[0].items()}


def read_unchecked(file: Path) -> dict[str, torch.Tensor]:
    """The same without a check of the digest."""
    kept = artefact.check_seal, artefact._content
    artefact.check_seal, artefact._content = (lambda *_, **__: None), (lambda *_: [])
    try:
        return read(file)
    finally:
        artefact.check_seal, artefact._content = kept


def forget(file: Path) -> None:
    """Let the system forget the file's pages."""
    handle = os.open(file, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


def main() -> None:
    """Print a row for each file, and the speed of each digest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write what was measured to this file")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    folder = Path(tempfile.mkdtemp())
    model = Transformer(vocabulary=44, positions=20, config=TransformerConfig(), seed=0)
    write_tensors(folder / "small", model.state_dict(), made_by="here", step=1, mass=0.1)
    large = {f"layer {index}": torch.randn(1 << 20) for index in range(64)}
    write_tensors(folder / "large", large, made_by="here", step=1, mass=0.1)
    cold = lambda: forget(folder / "large")  # noqa: E731
    rows: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("0.1 MB, cached", "small", {"rounds": 40, "repeat": 25}),
        ("256 MB, cached", "large", {"rounds": 25}),
        ("256 MB, from disk", "large", {"before": cold}),
    )
    print(f"{'':20}{'read ms':>10}{'with check':>12}{'ratio':>8}")
    ratios, speeds = {}, {}
    for name, file, how in rows:
        works = (lambda file=file: read_unchecked(folder / file), lambda file=file: read(folder / file))
        bare, checked = seconds(*works, **how)
        ratios[name] = {"read_ms": 1e3 * bare, "with_check_ms": 1e3 * checked, "ratio": checked / bare}
        print(f"{name:20}{1e3 * bare:10.2f}{1e3 * checked:12.2f}{checked / bare:8.3f}")
    data = (folder / "large").read_bytes()
    print(f"\n{'digest':20}{'GB/s':>10}")
    digests = {"xxh3": xxhash.xxh3_64, "crc32": zlib.crc32, "sha256": hashlib.sha256, "blake2b": hashlib.blake2b}
    for name, digest in digests.items():
        speeds[name] = len(data) / seconds(lambda digest=digest: digest(data))[0] / 1e9
        print(f"{name:20}{speeds[name]:10.2f}")
    if asked.json:
        asked.json.write_text(json.dumps({"files": ratios, "gigabytes_per_second": speeds}, indent=2) + "\n")
    for file in folder.iterdir():
        file.unlink()


if __name__ == "__main__":
    main()
