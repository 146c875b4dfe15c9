"""Lift every helper of every file of installed packages, in copies, and check what comes out.

    python benchmarks/scale.py [PACKAGE|FOLDER...] [--sample CODE N] [--limit N] [-o FILE]
    python benchmarks/scale.py [PACKAGE|FOLDER...] --alone

No crash is allowed; what is written must compile; CPython's symbol table must not find more functions that
capture than before; no comment may be lost. Prints the totals, the refusals by code, and samples of a code.
`--alone` writes nothing: it decides, and decides again with one rule off at a time, to tell what each rule
costs alone. Of the standard library's folder the installed packages and the tests are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import random
import symtable
import sys
import sysconfig
import tempfile
import time
import tokenize
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STDLIB = Path(sysconfig.get_path("stdlib")).resolve()
PACKAGES = ("torch", "numpy", "sympy", "setuptools", "pip", "hypothesis", "mypy", "matplotlib", "networkx")


@dataclass(slots=True)
class Totals:
    """Totals over the helpers; `places` are the refusals by code."""

    files: int = 0
    lines: int = 0
    seconds: float = 0.0
    unusable: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    places: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    problems: list[str] = field(default_factory=list)
    slowest: list[tuple[float, str, int]] = field(default_factory=list)


def python_files(package: str) -> Iterator[Path]:
    """Yield the files of a folder, or of a package that is installed, without importing it."""
    if Path(package).is_dir():
        folder = Path(package).resolve()
        left_out = {"site-packages", "test", "tests", "idlelib"} if folder == STDLIB else set()
        yield from (p for p in sorted(folder.rglob("*.py")) if not left_out & {*p.relative_to(folder).parts})
        return
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"scale: {package}: no such package is installed")
    for folder in spec.submodule_search_locations:
        yield from sorted(Path(folder).rglob("*.py"))


Tool = Callable[[list[str]], int]


def lift_copy(tool: Tool, path: Path, folder: Path, totals: Totals) -> None:
    """Run the tool on a copy of a file and add what it says to the totals."""
    data = path.read_bytes()
    copy = folder / "subject.py"
    copy.write_bytes(data)
    out, errors = io.StringIO(), io.StringIO()
    start = time.process_time()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            status = tool([str(copy), "--write", "--output-format", "json"])
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        totals.problems.append(f"{path}: crash: {traceback.format_exc().splitlines()[-1]}")
        return
    seconds = time.process_time() - start
    totals.files += 1
    totals.lines += data.count(b"\n")
    totals.seconds += seconds
    totals.slowest.append((seconds, str(path), data.count(b"\n")))
    if status == 2:
        totals.unusable[errors.getvalue().rpartition(": ")[2].strip()[:60]] += 1
        if _compiles(data, path) is None:
            totals.problems.append(f"{path}: compiles, but: {errors.getvalue().strip()}")
        return
    report = json.loads(out.getvalue())
    for helper in report["helpers"]:
        totals.statuses[helper["status"]] += 1
        if helper["status"] == "refused":
            place = f"{path}:{helper['line']}: {helper['qualname']}: {helper['reason']}"
            totals.places[helper["code"]].append(place)
    lifted = [helper for helper in report["helpers"] if helper["status"] == "lifted"]
    after = copy.read_bytes()
    if not lifted:
        if after != data:
            totals.problems.append(f"{path}: nothing was lifted and yet the file changed")
        return
    totals.problems += [f"{path}: {problem}" for problem in _faults(data, after, path, len(lifted))]


def _faults(before: bytes, after: bytes, path: Path, lifted: int) -> Iterator[str]:
    if (error := _compiles(after, path)) is not None:
        yield f"the result does not compile: {error}"
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = sum(1 for _ in _captures(symtable.symtable(_text(before), "before", "exec")))
        new = sum(1 for _ in _captures(symtable.symtable(_text(after), "after", "exec")))
    if new > old:
        yield f"{new} functions with captures, before {old}; {lifted} lifted"
    if lost := _comments(before) - _comments(after):
        yield f"comments lost: {sorted(lost)[:3]}"


def _captures(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the functions that capture, each by its name."""
    for child in table.get_children():
        if isinstance(child, symtable.Function) and child.get_frees():
            yield child.get_name()
        yield from _captures(child)


def _text(data: bytes) -> str:
    with io.TextIOWrapper(io.BytesIO(data), tokenize.detect_encoding(io.BytesIO(data).readline)[0]) as stream:
        return stream.read()


def _compiles(data: bytes, path: Path) -> Exception | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return error
    return None


def _comments(data: bytes) -> Counter[bytes | str]:
    tokens = tokenize.tokenize(io.BytesIO(data).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def show(totals: Totals, sample: str | None, number: int) -> None:
    """Print the table."""
    helpers = sum(totals.statuses.values())
    speed = totals.seconds / max(1, totals.lines) * 1e6
    print(f"{totals.files} files, {totals.lines} lines, {helpers} helpers")
    print(f"{totals.seconds:.0f} s CPU, {speed:.0f} us a line")
    for status, count in totals.statuses.most_common():
        print(f"  {count:7} {100 * count / max(1, helpers):5.1f} % {status}")
    print("refused:")
    for code, places in sorted(totals.places.items(), key=lambda item: -len(item[1])):
        print(f"  {len(places):7} {100 * len(places) / max(1, helpers):5.1f} % {code}")
    for reason, count in totals.unusable.most_common(10):
        print(f"  {count:7} files unusable: {reason}")
    print("slowest:")
    for seconds, path, lines in sorted(totals.slowest, reverse=True)[:5]:
        print(f"  {seconds:6.2f} s {lines:7} lines {path}")
    print(f"{len(totals.problems)} problems")
    for problem in totals.problems[:50]:
        print(f"  {problem}")
    if sample:
        places = totals.places[sample]
        print(f"{sample}:")
        for place in random.Random(0).sample(places, min(number, len(places))):
            print(f"  {place}")


def costs_alone(files: Iterator[Path]) -> None:
    """Print how many helpers are lifted, and how many more would be without each rule."""
    from codemods.program.lifting import Analysis
    from codemods.program.source import SourceError, analysing, read_source
    from codemods.rewrites.rules import decision

    rules = decision.CHECKS
    helpers, lifted = 0, 0
    more: Counter[str] = Counter()

    def count(path: Path) -> int:
        analysis = Analysis(read_source(path))
        return len(decision.decide(analysis, analysis.helpers).lifted)

    for path in files:
        try:
            with analysing():
                analysis = Analysis(read_source(path))
                found = decision.decide(analysis, analysis.helpers) if analysis.helpers else None
                helpers += len(analysis.helpers)
                lifted += len(found.lifted) if found else 0
                for rule in rules if found and found.refused else ():
                    decision.CHECKS = tuple(other for other in rules if other is not rule)
                    more[rule.__name__] += count(path) - len(found.lifted if found else ())
                    decision.CHECKS = rules
        except (SourceError, RecursionError) as error:
            print(f"  {error}")
    print(f"{helpers} helpers, {lifted} lifted ({100 * lifted / max(1, helpers):.1f} %)")
    for name, number in more.most_common():
        if number:
            print(f"  {number:6} more without {name}")


def main(argv: list[str], tool: Tool) -> int:
    """Run over the packages; return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description="Lift every helper of installed packages, in copies.")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"default: {' '.join(PACKAGES)}")
    parser.add_argument("--sample", nargs=2, metavar=("CODE", "N"), help="print N places refused with CODE")
    parser.add_argument("--limit", type=int, default=0, help="only so many files a package, spread evenly")
    parser.add_argument("-o", dest="output", type=Path, help="write all refusals, as JSON")
    parser.add_argument("--alone", action="store_true", help="what each rule costs alone; nothing is written")
    options = parser.parse_args(argv)
    if options.alone:
        costs_alone(path for package in options.packages or PACKAGES for path in python_files(package))
        return 0
    totals = Totals()
    with tempfile.TemporaryDirectory() as folder:
        for package in options.packages or PACKAGES:
            files = list(python_files(package))
            step = max(1, len(files) // options.limit) if options.limit else 1
            for path in files[::step]:
                lift_copy(tool, path, Path(folder), totals)
    code, number = options.sample or (None, 0)
    show(totals, code, int(number))
    if options.output:
        options.output.write_text(json.dumps(totals.places, indent=1), encoding="utf-8")
    return 1 if totals.problems else 0


if __name__ == "__main__":
    # Beside this file lies a benchmark of the tool's own name, which must not be taken for it.
    sys.path[0] = str(ROOT)
    from codemods.extract import main as extract

    sys.exit(main(sys.argv[1:], extract))
