"""What observing costs: the same program with and without the observer, alternating in one session.

    python benchmarks/golden.py [--pairs N] [RUN...]

Prints, for every run, the seconds from the import of torch to the end, the median ratio of the pairs by
wall clock and by processor time (which other programs on the machine disturb less), and the share of its
own hooks that the observer measured.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

# The folder of this script comes first on the path, where its own name would hide the package.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

from golden.record import Run, find_root, find_run, record_run  # noqa: E402
from golden.record.process import command_line, environment, execute  # noqa: E402
from golden.record.recorder import settings  # noqa: E402
from golden.trace.errors import GoldenError  # noqa: E402


@dataclass(frozen=True)
class Clock:
    """What one run took; ``own`` is the share that the observer measured of its own hooks."""

    seconds: float
    cpu_seconds: float
    own: float = 0.0


def unobserved(run: Run, root: Path) -> Clock:
    """A run under the same settings, without hooks: only the clock is read."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        outputs = folder / "out"
        outputs.mkdir()
        argv = command_line(run, root=root, out=outputs, data=None)
        variables = environment(run, root=root, observe={**settings(run, folder), "observe": False})
        execute(run, argv, root=root, variables=variables, folder=folder, outputs=outputs)
        clocks = [Clock(**json.loads(path.read_text())) for path in folder.glob("clock-*.json")]
        return max(clocks, key=lambda clock: clock.seconds)


def observed(run: Run, root: Path) -> Clock:
    """An observed run."""
    with tempfile.TemporaryDirectory() as scratch:
        trace = record_run(run, root=root, out=Path(scratch) / "trace")
        slowest = max(trace.processes, key=lambda process: process.seconds)
        return Clock(slowest.seconds, slowest.cpu_seconds, slowest.observing / slowest.seconds)


def main(argv: list[str] | None = None) -> int:
    """Measure some runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", default=["ppo_small"])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--root", type=Path, default=None)
    options = parser.parse_args(argv)
    root = options.root or find_root(Path.cwd())
    print(f"{'run':16} {'bare s':>8} {'observed s':>11} {'wall':>7} {'cpu':>7} {'own share':>10}")
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
            wall = statistics.median(full.seconds / bare.seconds for bare, full in pairs)
            cpu = statistics.median(full.cpu_seconds / bare.cpu_seconds for bare, full in pairs)
            bare_s, full_s = (statistics.median(pair[side].seconds for pair in pairs) for side in (0, 1))
            own = statistics.median(full.own for _, full in pairs)
            print(f"{run.name:16} {bare_s:8.3f} {full_s:11.3f} {wall:7.3f} {cpu:7.3f} {own:9.1%}", flush=True)
    except GoldenError as error:
        print(f"golden: {error}", file=sys.stderr)
        return int(error.code)
    return 0


if __name__ == "__main__":
    started = time.perf_counter()
    status = main()
    print(f"{time.perf_counter() - started:.0f} s")
    sys.exit(status)
