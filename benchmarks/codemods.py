"""CPU time of the static tools, whole process, on generated files and on the monolith.

    python benchmarks/codemods.py [--lines N]... [--repeat N] [--against FOLDER]

Each figure is the least of the repeats, so that a busy machine counts less, the tool's own compilation not.
The ratio compares with an interpreter that parses the same file with libcst and writes it. `growth` is the
exponent p in time ~ lines**p between two rows, start-up taken off: 1 is linear. `--against` names another
checkout, whose commands take turns with these on the monolith and on a generated one of 4,400 lines.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MONOLITH = ROOT / "examples" / "monolith" / "vectorized.py"
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)

FUNCTION = '''
def function_{n}(rows, limit={n}):
    """Add up the rows that a helper lets pass."""
    offset = limit * 2
    seen = []

    def keep(row, *, strict=False):
        # A remark that must survive.
        if strict and row > limit:
            return None
        seen.append(row)
        return row + offset

    def total(values):
        result = 0
        for value in values:
            kept = keep(value, strict=value % 2 == 0)
            if kept is not None:
                result += kept
        return result

    if limit > 3:
        return total(rows), len(seen)
    return total(row for row in rows if row), len(seen)
'''

BLOCK = '''
    scale_{n} = rows[{n} % 3] + {n}

    def step_{n}(row):
        """One step, with captures that are bound before and never again."""
        if row > scale_{n}:
            log.append(row)
            return row - scale_{n}
        return row + scale_{n}

    for row in rows:
        if row % 2:
            total += step_{n}(row)
        else:
            try:
                total -= step_{n}(row + 1)
            except ValueError as error:
                log.append(str(error))
'''


PLAIN = """
    # What the {n}th block does.
    weight_{n} = [row * {n} for row in rows if row % {m} != 1]
    for index, row in enumerate(weight_{n}):
        if index > limit and row:
            log.append((index, row))
            continue
        try:
            total += rows[index % len(rows)] * offset
        except IndexError as error:
            log.append(str(error))
    total += sum(weight_{n}, start=offset)
"""

BEFORE = """
    level_{n} = len(rows) + limit * {n}
    names_{n} = [row for row in rows if row % {m}]
"""

STEP = """
        # What the {n}th step of an epoch does.
        for index, row in enumerate(names_{n}):
            if index > level_{n} and row:
                log.append((index, row, epoch))
                continue
            try:
                total += rows[index % len(rows)] * offset
            except IndexError as error:
                log.append(str(error))
        total += sum(names_{n}, start=level_{n})
"""

CALLED = """
        total += step_{n}(epoch + level_{n})
"""

PLAN = """
version = 1
source = "subject.py"
function = "train"
"""


def many_functions(lines: int) -> str:
    """Return a file of about `lines` lines: one small function with two helpers after the other."""
    return "".join(FUNCTION.format(n=n) for n in range(lines // FUNCTION.count("\n") + 1))


def one_function(lines: int) -> str:
    """Return a file of about `lines` lines: a single function with a helper every twenty lines."""
    blocks = "".join(BLOCK.format(n=n) for n in range(lines // BLOCK.count("\n") + 1))
    return f"def train(rows):\n    total, log = 0, []\n{blocks}\n    return total, log\n"


def monolith(lines: int) -> str:
    """Return a file of about `lines` lines: small functions, then one with nine helpers."""
    count = lines * 2 // 3 // PLAIN.count("\n")
    blocks = [PLAIN.format(n=n, m=n + 2) for n in range(count)]
    for n in range(9):
        blocks[(n + 1) * count // 10] += BLOCK.format(n=n)
    start = "def train(rows, limit=3):\n    total, log, offset = 0, [], limit * 2\n"
    return f"{many_functions(lines // 3)}\n\n{start}{''.join(blocks)}\n    return total, log\n"


def looped(lines: int) -> str:
    """Return a file as `monolith` makes it, whose function has a setup, and one loop that reads it."""
    count = min(120, lines // 3 // BEFORE.count("\n"))
    before = [BEFORE.format(n=n, m=n + 2) for n in range(count)]
    helpers = [BLOCK.format(n=n).partition("    for row in rows:")[0] for n in range(9)]
    steps = [STEP.format(n=n % count) for n in range(lines // 2 // STEP.count("\n"))]
    for n in range(9):
        steps[(n + 1) * len(steps) // 10] += CALLED.format(n=n)
    start = "def train(rows, limit=3):\n    total, log, offset = 0, [], limit * 2\n"
    body = f"{''.join([*before, *helpers])}\n    for epoch in range(limit):\n{''.join(steps)}"
    rest = max(0, lines - start.count("\n") - body.count("\n"))
    return f"{many_functions(rest)}\n\n{start}{body}\n    return total, log\n"


def four_files() -> str:
    """Return a plan that moves the nine helpers of `monolith` to four files."""
    moves = [
        f'[[move]]\nto = "part_{n}.py"\nnames = {[f"step_{h}" for h in range(n, 9, 4)]}\n' for n in range(4)
    ]
    return PLAN + "\n".join(moves)


def four_files_and_loop() -> str:
    """Return the same plan for `looped`, whose loop it makes a class."""
    loop = '\n[loop]\nclass = "Trainer"\nto = "trainer.py"\nmethod = "run"\n'
    return four_files().replace("subject.py", "looped.py") + loop


def cpu_seconds(arguments: list[str], folder: Path, root: Path = ROOT) -> float:
    """Return the user and system time of a Python process."""
    # As for users, whose interpreter keeps what it compiled; the first run compiles.
    environment = dict(os.environ, PYTHONPATH=str(root), PYTHONPYCACHEPREFIX=str(folder / "compiled"))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    null = os.open(os.devnull, os.O_WRONLY)
    here = Path.cwd()
    os.chdir(folder)
    try:
        child = os.posix_spawn(
            sys.executable,
            [sys.executable, *arguments],
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)],
        )
        _, status, usage = os.wait4(child, 0)
    finally:
        os.chdir(here)
        os.close(null)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"benchmarks: {' '.join(arguments)} failed")
    return usage.ru_utime + usage.ru_stime


ROUND_TRIP = textwrap.dedent("""
    import pathlib, sys, libcst
    libcst.parse_module(pathlib.Path(sys.argv[1]).read_text()).code
""")


def measure(path: Path, repeat: int) -> dict[str, float]:
    """Return the CPU seconds of each command on a file, the commands taking turns."""
    commands = {
        "round trip": ["-c", ROUND_TRIP, path.name],
        "extract": ["-m", "codemods.extract", path.name, "--output-format", "json"],
        "audit": ["-m", "codemods.audit", path.name, "--output-format", "json"],
    }
    if not (ROOT / "codemods" / "audit").exists() and not (ROOT / "codemods" / "audit.py").exists():
        del commands["audit"]
    best = dict.fromkeys(commands, math.inf)
    for _ in range(repeat):
        for name, arguments in commands.items():
            best[name] = min(best[name], cpu_seconds(arguments, path.parent))
    return best


def show_growth(title: str, make: Callable[[int], str], sizes: list[int], repeat: int) -> None:
    """Print a table over the sizes for one shape of file."""
    print(f"\n{title}\n   lines  round trip   extract  ratio  ms/1000 lines  growth")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "subject.py"
        path.write_text("x = 1\n", encoding="utf-8")
        start_up = measure(path, repeat)["extract"]
        previous: tuple[int, float] | None = None
        for size in sizes:
            path.write_text(make(size), encoding="utf-8")
            lines = path.read_text(encoding="utf-8").count("\n")
            seconds = measure(path, repeat)
            own = max(seconds["extract"] - start_up, 1e-6)
            growth = math.log(own / previous[1]) / math.log(lines / previous[0]) if previous else math.nan
            ratio = seconds["extract"] / seconds["round trip"]
            print(
                f"{lines:>8} {seconds['round trip']:>9.2f} s {seconds['extract']:>7.2f} s {ratio:>6.2f}"
                f" {own / lines * 1e6:>14.1f} {growth:>7.2f}"
            )
            previous = lines, own
        print(f"start-up of extract, on an empty file: {start_up:.2f} s")


def show_whole(repeat: int, other: Path | None) -> None:
    """Print what users wait for, for this checkout and another one, their runs taking turns."""
    folders = [ROOT] if other is None else [other.resolve(), ROOT]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "subject.py").write_text(monolith(4_400), encoding="utf-8")
        (folder / "plan.toml").write_text(four_files(), encoding="utf-8")
        (folder / "looped.py").write_text(looped(4_400), encoding="utf-8")
        (folder / "loop.toml").write_text(four_files_and_loop(), encoding="utf-8")
        lines = monolith(4_400).count("\n")
        commands = {
            "an interpreter": ["-c", "pass"],
            "import libcst": ["-c", "import libcst"],
            f"libcst reads and writes {lines} lines": ["-c", ROUND_TRIP, "subject.py"],
            "start-up": ["-m", "codemods.extract", "--help"],
            f"audit of one function, {lines} lines": [
                "-m",
                "codemods.audit",
                "subject.py",
                "--function",
                "train",
            ],
            f"nine helpers in place, {lines} lines": [
                "-m",
                "codemods.extract",
                "subject.py",
                "--function",
                "train",
            ],
            f"nine helpers to four files, {lines} lines": ["-m", "codemods.extract", "--plan", "plan.toml"],
            "the same, and a loop to a class": ["-m", "codemods.extract", "--plan", "loop.toml"],
            "audit of the monolith": [
                "-m",
                "codemods.audit",
                str(MONOLITH),
                "--function",
                "train_ppo_vectorized",
            ],
            "the same, in its repository, with the seams of its tests": [
                "-m",
                "codemods.audit",
                str(MONOLITH),
                "--function",
                "train_ppo_vectorized",
                "--tests",
                str(ROOT / "tests"),
            ],
            "every helper of the monolith": ["-m", "codemods.extract", str(MONOLITH)],
        }
        print("\n" + "  ".join(f"{folder.name:>10}" for folder in folders))
        for title, arguments in commands.items():
            best = dict.fromkeys(folders, math.inf)
            for _ in range(repeat):
                for root in folders:
                    best[root] = min(best[root], cpu_seconds(arguments, folder, root))
            print("  ".join(f"{best[root]:>8.2f} s" for root in folders), "", title)


def main(argv: list[str]) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="CPU time of the static tools.")
    parser.add_argument("--lines", type=int, action="append", help="a size of generated file")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each command; the least counts")
    parser.add_argument("--against", type=Path, help="another checkout to compare with; no growth then")
    options = parser.parse_args(argv)
    sizes = sorted(options.lines or SIZES)
    if options.against is None:
        show_growth("many functions, two helpers each", many_functions, sizes, options.repeat)
        show_growth("one function, a helper every twenty lines", one_function, sizes, options.repeat)
    show_whole(options.repeat, options.against)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
