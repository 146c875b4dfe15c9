"""CPU time of `codemods hotpath`, whole process, on a tree of trainers; and of what can't be avoided.

    python benchmarks/hotpath.py [--files N] [--lines N] [--repeat N]
    python benchmarks/hotpath.py --over torch        # torch's own optim, distributed and nn
    python benchmarks/hotpath.py --over src tests    # any folders

The tree holds copies of this repository's trainer, each a package of its own with its loops and all that they
call, filled up to the size with modules of installed packages that have no loops over environments. Each
figure is the least of the repeats, so that a busy machine counts less; the kinds of runs alternate. `parse`
is an interpreter that only reads and parses the same files.
"""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRAINER = ROOT / "src" / "esper"
PARSE = """
import ast, pathlib, sys
for folder in sys.argv[1:]:
    for path in sorted(pathlib.Path(folder).rglob("*.py")):
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


def _named(paths: list[str]) -> list[str]:
    if paths != ["torch"]:
        return paths
    purelib = Path(sysconfig.get_paths()["purelib"])
    return [str(purelib / "torch" / name) for name in ("optim", "distributed", "nn")]


def _over(paths: list[str], repeat: int) -> None:
    """Print a table of one cold run, of the parse alone and of ruff, over some folders."""
    with tempfile.TemporaryDirectory() as name:
        runs = {
            "parse": ["-c", PARSE, *paths],
            "ruff check": ["-m", "ruff", "check", "--isolated", "--no-cache", "--quiet", *paths],
            "cold": ["-m", "codemods.hotpath", *paths, "--quiet", "--exit-zero"],
        }
        least = dict.fromkeys(runs, float("inf"))
        memory = dict.fromkeys(runs, 0.0)
        for _ in range(repeat):
            for kind, arguments in runs.items():
                seconds, memory[kind] = usage(arguments, Path(name))
                least[kind] = min(least[kind], seconds)
    files = [path for folder in paths for path in Path(folder).rglob("*.py")]
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    print(f"{len(files)} files, {lines} lines; CPU seconds, least of {repeat}")
    for kind, seconds in least.items():
        ratio = seconds / least["parse"]
        print(f"  {kind:18}{seconds:6.2f}   {ratio:5.2f} x parse   {memory[kind]:4.0f} MB at most")


def cpu_seconds(arguments: list[str], cwd: Path) -> float:
    """CPU seconds, user and system, of a process of its own."""
    return usage(arguments, cwd)[0]


def usage(arguments: list[str], cwd: Path) -> tuple[float, float]:
    """CPU seconds and the most memory in MB of a process of its own."""
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, *arguments],
        {**os.environ, "PYTHONPATH": str(ROOT)},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, str(cwd / "out.txt"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        ],
    )
    _, status, used = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"{' '.join(arguments)}: failed with status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--files", type=int, default=160)
    parser.add_argument("--lines", type=int, default=59_000)
    parser.add_argument("--trainers", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--over", nargs="+", metavar="PATH", help="cold, beside parse and ruff, of these")
    options = parser.parse_args()
    if options.over:
        _over([str(Path(path).resolve()) for path in _named(options.over)], options.repeat)
        return
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "tree"
        tree.mkdir()
        files, lines = build(tree, options.files, options.lines, options.trainers)
        check = ["-m", "codemods.hotpath", str(tree), "--quiet"]
        runs: dict[str, Callable[[], float]] = {
            "start": lambda: cpu_seconds(["-m", "codemods.hotpath", "--explain", "HP001"], Path(name)),
            "parse": lambda: cpu_seconds(["-c", PARSE, str(tree)], Path(name)),
            "check": lambda: cpu_seconds(check, Path(name)),
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
