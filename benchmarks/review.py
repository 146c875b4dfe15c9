"""CPU time of `codemods review`, whole process, beside that of parsing both sides.

    python benchmarks/review.py [--package NAME] [--files N] [--repeat N]

Takes Python files of an installed package and reviews them against themselves, against a tree in which five
files differ, and against one in which all do. A file that differs has another constant, another name of
a variable, a function that moved to its end, and one more name. Each figure is the least of the repeats.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import math
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.codemods import cpu_seconds

PARSE = """
import ast, gc, pathlib, sys
gc.disable()
for folder in sys.argv[1:]:
    for path in pathlib.Path(folder).rglob("*.py"):
        ast.parse(path.read_bytes())
"""


def other_constant(lines: list[str], tree: ast.Module, choice: random.Random) -> None:
    """Add one to a number."""
    numbers = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and type(n.value) is int]
    if numbers:
        node = choice.choice(numbers)
        row = lines[node.lineno - 1]
        lines[node.lineno - 1] = f"{row[: node.col_offset]}{node.value + 1}{row[node.end_col_offset :]}"


def other_name(lines: list[str], tree: ast.Module, choice: random.Random) -> None:
    """Rename a variable of a function that has one that is only its own."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    choice.shuffle(functions)
    for function in functions:
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        stored = sorted({node.id for node in names if isinstance(node.ctx, ast.Store)})
        if stored:
            places = [(n.lineno, n.col_offset) for n in names if n.id == stored[0]]
            for line, column in sorted(places, reverse=True):
                end = column + len(stored[0])
                row = lines[line - 1]
                if row[column:end] == stored[0]:
                    lines[line - 1] = f"{row[:end]}_renamed{row[end:]}"
            return


def moved_function(lines: list[str], tree: ast.Module, choice: random.Random) -> None:
    """Put a function at the end of the file."""
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and not n.decorator_list]
    if functions:
        node = choice.choice(functions)
        text = lines[node.lineno - 1 : node.end_lineno]
        del lines[node.lineno - 1 : node.end_lineno]
        lines += ["", "", *text, ""]


def edited(text: str, seed: int) -> str:
    """The text with the three changes, as far as it stays a program."""
    choice = random.Random(seed)
    for change in (other_constant, other_name, moved_function):
        lines = text.split("\n")
        change(lines, ast.parse(text), choice)
        try:
            compile("\n".join(lines), "edited", "exec")
        except SyntaxError:
            continue
        text = "\n".join(lines)
    return f"{text}\nADDED = {seed}\n"


def files_of(package: str, count: int) -> dict[Path, str]:
    """The first files of a package, by their places below the folder that it is in."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"benchmarks: {package} is no installed package")
    [folder] = map(Path, spec.submodule_search_locations)
    found: dict[Path, str] = {}
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text("utf-8")
        if len(text) > 300 and text.isascii() and len(found) < count:
            found[path.relative_to(folder.parent)] = text
    return found


def main(argv: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="CPU time of the review.")
    parser.add_argument("--package", default="torch", help="an installed package")
    parser.add_argument("--files", type=int, default=160, help="so many files of it")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each command; the least counts")
    options = parser.parse_args(argv)
    files = files_of(options.package, options.files)
    every = max(len(files) // 5, 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trees = {"none": lambda _: False, "five": lambda n: n % every == every // 2, "all": lambda _: True}
        for tree in ("base", *trees):
            for number, (path, text) in enumerate(files.items()):
                place = folder / tree / path
                place.parent.mkdir(parents=True, exist_ok=True)
                differs = tree in trees and trees[tree](number)
                place.write_text(edited(text, number) if differs else text, "utf-8")
        commands = {"parse both": ["-c", PARSE, "base", "all"]}
        for tree in trees:
            commands[f"review, {tree} differ"] = ["-m", "codemods.review", "--base", "base", "--head", tree]
        best = dict.fromkeys(commands, math.inf)
        for _ in range(options.repeat):
            for title, arguments in commands.items():
                best[title] = min(best[title], cpu_seconds(arguments, folder))
        print(f"{len(files)} files, {sum(text.count(chr(10)) for text in files.values()):,} lines a side")
        for title, seconds in best.items():
            print(f"{seconds:>8.2f} s  {seconds / best['parse both']:>5.1f}  {title}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
