"""Cost of observing: the same program with and without the observer, alternating in one session.

    python benchmarks/golden.py [--pairs N] [RUN...]

Prints, for every run, the seconds of the whole process, and the processor seconds of all its processes; and
the ratio of the pairs, median and range, by wall clock and by processor time (which other programs on the
machine disturb less). A run is named, or given as a run file.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# The folder of this script comes first on the path, where its own name would hide the package.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

from golden.record import Run, find_root, find_run, record_run  # noqa: E402
from golden.record.process import command_line, environment, execute  # noqa: E402
from golden.record.recorder import settings  # noqa: E402
from golden.trace.errors import GoldenError  # noqa: E402


@dataclass
class Clock:
    """Times of one run, from its start to its end, with all processes that it starts."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0


@contextlib.contextmanager
def clocked() -> Iterator[Clock]:
    """Take the time, and the processor time of the processes that end meanwhile."""
    clock, begun = Clock(), time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    yield clock
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    clock.seconds = time.monotonic() - begun
    clock.cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def unobserved(run: Run, root: Path) -> Clock:
    """A run under the same settings, without hooks."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        outputs = folder / "out"
        outputs.mkdir()
        argv = command_line(run, root=root, out=outputs, data=None)
        variables = environment(run, root=root, observe={**settings(run, folder), "observe": False})
        with clocked() as clock:
            execute(run, argv, root=root, variables=variables, folder=folder)
        return clock


def observed(run: Run, root: Path) -> Clock:
    """An observed run."""
    with tempfile.TemporaryDirectory() as scratch:
        with clocked() as clock:
            trace = record_run(run, root=root, out=Path(scratch) / "trace")
        # Without what gathers the record when the program has ended.
        clock.seconds = trace.about.seconds
        return clock


def ratio(pairs: list[tuple[Clock, Clock]], what: str) -> str:
    """Median and range of observed to bare."""
    found = [getattr(full, what) / getattr(bare, what) for bare, full in pairs]
    return f"{statistics.median(found):.3f} ({min(found):.3f}-{max(found):.3f})"


def main(argv: list[str] | None = None) -> int:
    """Measure some runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", default=["ppo_small"])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--root", type=Path, default=None)
    options = parser.parse_args(argv)
    root = options.root or find_root(Path.cwd())
    titles = f"{'run':16} {'bare s':>7} {'observed s':>11} {'bare cpu s':>10} {'wall':>20} {'cpu':>20}"
    print(titles)
    try:
        for name in options.runs:
            run = find_run(name, root)
            pairs = []
            for number in range(options.pairs):
                # The order changes from pair to pair: a machine that slows down favours neither.
                if number % 2:
                    full = observed(run, root)
                    pairs.append((unobserved(run, root), full))
                else:
                    pairs.append((unobserved(run, root), observed(run, root)))
            bare_s, full_s = (statistics.median(pair[side].seconds for pair in pairs) for side in (0, 1))
            cpu_s = statistics.median(bare.cpu_seconds for bare, _ in pairs)
            ratios = " ".join(f"{ratio(pairs, what):>20}" for what in ("seconds", "cpu_seconds"))
            print(f"{run.name:16} {bare_s:7.3f} {full_s:11.3f} {cpu_s:10.3f} {ratios}", flush=True)
    except GoldenError as error:
        print(f"golden: {error}", file=sys.stderr)
        return int(error.code)
    return 0


if __name__ == "__main__":
    started = time.perf_counter()
    status = main()
    print(f"{time.perf_counter() - started:.0f} s")
    sys.exit(status)
