"""Cost of observing: the same program with and without the observer, alternating in one session.

    python benchmarks/golden.py [--pairs N] [RUN...]

Prints, for every run, the seconds of the whole process, and the processor seconds of all its processes; the
ratio of the pairs, median and range, by wall clock and by processor time (which other programs on the machine
disturb less); the same ratio without what every program pays for importing torch; and the share of its own
hooks that the observer measured. A run is named, or given as a run file.
"""

from __future__ import annotations

import argparse
import contextlib
import json
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
    """Times of one run.

    ``seconds`` and ``cpu_seconds`` are of the whole process with all that it starts, ``after_torch`` and
    ``cpu_after_torch`` without the start, of several ranks the slowest and the sum; ``own`` is the share of
    wall time that the observer measured of its own hooks.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    after_torch: float = 0.0
    cpu_after_torch: float = 0.0
    own: float = 0.0


@contextlib.contextmanager
def child_cpu(clock: Clock) -> Iterator[None]:
    """Add the processor time of the processes that end meanwhile."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    yield
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    clock.cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def unobserved(run: Run, root: Path) -> Clock:
    """A run under the same settings, without hooks: only the clock is read."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        outputs = folder / "out"
        outputs.mkdir()
        argv = command_line(run, root=root, out=outputs, data=None)
        variables = environment(run, root=root, observe={**settings(run, folder), "observe": False})
        clock, begun = Clock(), time.monotonic()
        with child_cpu(clock):
            execute(run, argv, root=root, variables=variables, folder=folder)
        clock.seconds = time.monotonic() - begun
        clocks = [json.loads(path.read_text()) for path in folder.glob("clock-*.json")]
        # What launches ranks takes no step.
        clocks = [found for found in clocks if found["rank"] is not None] or clocks
        clock.after_torch = max(found["seconds"] for found in clocks)
        clock.cpu_after_torch = sum(found["cpu_seconds"] for found in clocks)
        return clock


def observed(run: Run, root: Path) -> Clock:
    """An observed run."""
    with tempfile.TemporaryDirectory() as scratch:
        clock = Clock()
        with child_cpu(clock):
            trace = record_run(run, root=root, out=Path(scratch) / "trace")
        slowest = max(trace.processes, key=lambda process: process.seconds)
        clock.seconds = trace.about.seconds
        clock.after_torch = slowest.seconds
        clock.cpu_after_torch = sum(process.cpu_seconds for process in trace.processes)
        clock.own = slowest.observing / slowest.seconds
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
    print(f"{titles} {'wall after torch':>20} {'cpu after torch':>20} {'own':>6}")
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
            own = statistics.median(full.own for _, full in pairs)
            ratios = [
                f"{ratio(pairs, what):>20}"
                for what in ("seconds", "cpu_seconds", "after_torch", "cpu_after_torch")
            ]
            seconds = f"{bare_s:7.3f} {full_s:11.3f} {cpu_s:10.3f}"
            print(f"{run.name:16} {seconds} {' '.join(ratios)} {own:6.1%}", flush=True)
    except GoldenError as error:
        print(f"golden: {error}", file=sys.stderr)
        return int(error.code)
    return 0


if __name__ == "__main__":
    started = time.perf_counter()
    status = main()
    print(f"{time.perf_counter() - started:.0f} s")
    sys.exit(status)
