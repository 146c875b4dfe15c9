"""What observing costs: the same program with and without the observer, alternating in one session.

    python benchmarks/golden.py [--pairs N] [RUN...]

Prints, for every run, the seconds from the import of torch to the end, the median ratio of the pairs,
and the share that the observer measured of itself.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

# The folder of this script comes first on the path, where its own name would hide the package.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

from golden.record import Run, find_root, find_run, record_run  # noqa: E402
from golden.record.process import command_line, environment, execute  # noqa: E402
from golden.record.recorder import settings  # noqa: E402
from golden.trace.errors import GoldenError  # noqa: E402


def unobserved(run: Run, root: Path) -> float:
    """Seconds of a run under the same settings, without hooks: only the clock is read."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        outputs = folder / "out"
        outputs.mkdir()
        argv = command_line(run, root=root, out=outputs, data=None)
        variables = environment(run, root=root, observe={**settings(run, folder), "observe": False})
        execute(run, argv, root=root, variables=variables, folder=folder, outputs=outputs)
        clocks = [json.loads(path.read_text())["seconds"] for path in folder.glob("clock-*.json")]
        return max(clocks)


def observed(run: Run, root: Path) -> tuple[float, float]:
    """Seconds of an observed run, and those that the observer measured of itself."""
    with tempfile.TemporaryDirectory() as scratch:
        trace = record_run(run, root=root, out=Path(scratch) / "trace")
        slowest = max(trace.processes, key=lambda process: process.seconds)
        return slowest.seconds, slowest.observing


def main(argv: list[str] | None = None) -> int:
    """Measure some runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", default=["ppo_small"])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--root", type=Path, default=None)
    options = parser.parse_args(argv)
    root = options.root or find_root(Path.cwd())
    print(f"{'run':16} {'bare s':>8} {'observed s':>11} {'ratio':>7} {'own share':>10}")
    try:
        for name in options.runs:
            run = find_run(name, root)
            bare, full, own = [], [], []
            for _ in range(options.pairs):
                bare.append(unobserved(run, root))
                seconds, observing = observed(run, root)
                full.append(seconds)
                own.append(observing / seconds)
            ratio = statistics.median(f / b for f, b in zip(full, bare, strict=True))
            print(
                f"{run.name:16} {statistics.median(bare):8.3f} {statistics.median(full):11.3f} {ratio:7.3f} "
                f"{statistics.median(own):9.1%}"
            )
    except GoldenError as error:
        print(f"golden: {error}", file=sys.stderr)
        return int(error.code)
    return 0


if __name__ == "__main__":
    started = time.perf_counter()
    status = main()
    print(f"{time.perf_counter() - started:.0f} s")
    sys.exit(status)
