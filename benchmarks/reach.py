"""Cost of noting lines: one run recorded with and without it, alternating in one session.

    python benchmarks/reach.py [--pairs N] [--root DIR] RUN FILE...

Prints the ratio of each pair by processor time (of the whole process, its start included), and their median.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
from pathlib import Path

# The folder of this script comes first on the path, where its own name would hide the package.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

from golden.record import find_run, record_run  # noqa: E402


def recorded(name: str, root: Path, files: list[str]) -> float:
    """The processor seconds of one record."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as scratch:
        record_run(find_run(name, root), root=root, out=Path(scratch) / "trace", reach=files)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--root", type=Path, default=Path())
    options = parser.parse_args()
    ratios = []
    for number in range(options.pairs):
        # Which of the two comes first changes, so that a machine that slows down favours neither.
        order = [[], options.files] if number % 2 else [options.files, []]
        spent = {bool(files): recorded(options.run, options.root, files) for files in order}
        ratios.append(spent[True] / spent[False])
        print(f"{spent[False]:.2f} s without, {spent[True]:.2f} s with: {ratios[-1]:.3f}", flush=True)
    print(f"median {statistics.median(ratios):.3f} of {len(ratios)} pairs")


if __name__ == "__main__":
    main()
