"""CPU time of `codemods hotpath`, whole process, on a tree of trainers; and of what can't be avoided.

    python benchmarks/hotpath.py [--files N] [--lines N] [--repeat N]

The tree holds copies of this repository's trainer, each a package of its own with its loops and all that they
call, filled up to the size with modules of installed packages that have no loops over environments. Each
figure is the least of the repeats, so that a busy machine counts less; the kinds of runs alternate. `parse`
is an interpreter that only reads and parses the same files.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRAINER = ROOT / "src" / "esper"
PARSE = """
import ast, pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    ast.parse(path.read_bytes())
"""


def build(folder: Path, files: int, lines: int, trainers: int) -> tuple[int, int]:
    """Make the tree; how many files and lines it has."""
    (folder / "pyproject.toml").write_text("")
    total = count = 0
    for number in range(trainers):
        target = folder / f"trainer_{number}"
        for path in sorted(TRAINER.rglob("*.py")):
            text = path.read_text().replace("esper.", f"trainer_{number}.")
            copy = target / path.relative_to(TRAINER)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
            total, count = total + text.count("\n"), count + 1
    for path in _installed():
        if count >= files or total >= lines:
            break
        text = path.read_text()
        size = text.count("\n")
        # What is left is spread evenly over the files that are left.
        if 0.9 * (lines - total) / (files - count) <= size <= 2.0 * (lines - total) / (files - count):
            copy = folder / "library" / f"module_{count}.py"
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(text)
            total, count = total + size, count + 1
    return count, total


def _installed() -> list[Path]:
    """Modules of installed packages about arrays and tensors, in a fixed order."""
    purelib = Path(sysconfig.get_paths()["purelib"])
    return [
        path
        for package in ("torch/nn", "torch/optim", "torch/distributions", "torch/distributed", "torch/utils")
        for path in sorted((purelib / package).rglob("*.py"))
    ]


def cpu_seconds(arguments: list[str], cwd: Path) -> float:
    """CPU seconds, user and system, of a process of its own."""
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, *arguments],
        {**os.environ, "PYTHONPATH": str(ROOT)},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, str(cwd / "out.txt"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        ],
    )
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"{' '.join(arguments)}: failed with status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--files", type=int, default=160)
    parser.add_argument("--lines", type=int, default=59_000)
    parser.add_argument("--trainers", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "tree"
        tree.mkdir()
        files, lines = build(tree, options.files, options.lines, options.trainers)
        cache = Path(name) / "cache"
        check = ["-m", "codemods.hotpath", str(tree), "--quiet", "--cache-dir", str(cache)]
        changed = tree / "trainer_0" / "simic" / "training" / "batch_ops.py"
        text = changed.read_text()

        def cold() -> float:
            shutil.rmtree(cache, ignore_errors=True)
            return cpu_seconds(check, Path(name))

        def edited() -> float:
            changed.write_text(f"{text}# {os.urandom(8).hex()}\n")
            seconds = cpu_seconds(check, Path(name))
            changed.write_text(text)
            return seconds

        runs: dict[str, Callable[[], float]] = {
            "start": lambda: cpu_seconds(["-m", "codemods.hotpath", "--explain", "HP001"], Path(name)),
            "parse": lambda: cpu_seconds(["-c", PARSE, str(tree)], Path(name)),
            "cold": cold,
            "warm": lambda: cpu_seconds(check, Path(name)),
            "one file changed": edited,
        }
        least = dict.fromkeys(runs, float("inf"))
        for _ in range(options.repeat):
            for kind, run in runs.items():
                least[kind] = min(least[kind], run())
        print(f"{files} files, {lines} lines, {options.trainers} trainer(s)")
        print(f"CPU seconds, least of {options.repeat}")
        for kind, seconds in least.items():
            print(f"  {kind:18}{seconds:6.2f}   {seconds / least['parse']:5.2f} x parse")


if __name__ == "__main__":
    main()
