"""Measurements of a program: one verdict a line, sorted, so that two runs can be compared as text."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import shutil
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.real import refactorings
from benchmarks.real.commands import Answer, run
from benchmarks.real.corpus import Program, python_files
from benchmarks.real.reasons import all_codes, numbered

PLANS = 3
STAGES = ("helpers", "loops", "plans", "places", "reviews")
_KINDS = {
    "helper": "helpers",
    "wrapped": "helpers",
    "file": "helpers",
    "loop": "loops",
    "plan": "plans",
    "planned": "plans",
}
_KINDS |= {"place": "places", "places": "places", "review": "reviews"}
_STEPS = frozenset(["step", "backward", "update", "train"])
_TESTS = frozenset(["test", "tests"])


def measure(stage: str, program: Program, root: Path, files: Sequence[Path]) -> list[str]:
    """The verdicts of a stage; ``files`` are those that it looks at."""
    if stage == "helpers":
        return [line for path in files for line in _helpers(root, path)]
    if stage == "loops":
        return [line for path in files for line in _loops(root, path)]
    if stage == "plans":
        found = [line for path in files for line in _proposed(root, path)]
        return found if program.plan is None else [*found, *_planned(root, program.plan)]
    if stage == "places":
        return _places(root)
    return [_review(kind, program.name, root) for kind in ("moved", "renamed")]


def stage_of(line: str) -> str:
    """The stage that a verdict is of; empty for the size of a program."""
    return _KINDS.get(line.partition(" ")[0], "")


def sizes(root: Path) -> list[str]:
    """A program's files and lines of Python, and how many files could have a plan."""
    files = python_files(root)
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    return [f"size files: {len(files)}", f"size lines: {lines}", f"size plannable: {len(plannable(root))}"]


def files_of(stage: str, root: Path) -> list[Path]:
    """The files that a stage looks at; of those that could have a plan a sample by their paths."""
    files = python_files(root)
    if stage == "helpers":
        return [path for path in files if _may_have_helpers(path)]
    if stage == "loops":
        return [path for path in files if any(_training_loops(path))]
    if stage == "plans":
        return sorted(sorted(plannable(root), key=lambda path: _digest(root, path))[:PLANS])
    return []


def plannable(root: Path) -> list[Path]:
    """Files of a hundred lines and more that are no tests."""
    return [
        path
        for path in python_files(root)
        if path.read_bytes().count(b"\n") >= 100 and not _TESTS & {*path.relative_to(root).parts}
    ]


def _may_have_helpers(path: Path) -> bool:
    """Tell if a file has a function inside a function, or is no Python, which is a verdict, too."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return True
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(
        isinstance(inner, functions)
        for function in ast.walk(tree)
        if isinstance(function, functions)
        for statement in function.body
        for inner in ast.walk(statement)
    )


def _digest(root: Path, path: Path) -> str:
    return hashlib.sha256(path.relative_to(root).as_posix().encode()).hexdigest()


def _helpers(root: Path, path: Path) -> Iterator[str]:
    """A line for each helper: lifted, or the codes of its refusal, that which is reported first; one more for
    those used as values, which may leave a wrapper.
    """
    shown = path.relative_to(root).as_posix()
    answer = run("extract", [path])
    if answer.document is None:
        yield f"file {shown}: {answer.failed}"
        return
    rows = answer.document["helpers"]
    codes = all_codes(path) if any(row["status"] == "refused" for row in rows) else {}
    values = any(row["code"] == "value-use" for row in rows)
    wrapped = run("extract", [path, "--wrapper", "auto"]).document if values else None
    for at, (name, row) in enumerate(zip(numbered([row["qualname"] for row in rows]), rows, strict=True)):
        if row["code"] == "value-use":
            verdict = "crash" if wrapped is None else _verdict(wrapped["helpers"][at])
            yield f"wrapped {shown} {name}: {verdict}"
        if row["status"] == "refused":
            others = sorted(set(codes.get(name, ())) - {row["code"]})
            yield f"helper {shown} {name}: refused {', '.join([row['code'], *others])}"
        else:
            yield f"helper {shown} {name}: {row['status']}"


def _training_loops(path: Path) -> Iterator[str]:
    """Functions of the top level with one loop among their statements, in which something is trained."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            loops = [s for s in function.body if isinstance(s, ast.For | ast.While)]
            if len(loops) == 1 and any(map(_is_step, ast.walk(loops[0]))):
                yield function.name


def _is_step(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _STEPS


def _loops(root: Path, path: Path) -> Iterator[str]:
    """A line for each training loop that a plan is to make a class of."""
    shown = path.relative_to(root)
    for function in dict.fromkeys(_training_loops(path)):
        plan = (
            f'version = 1\nsource = "{shown.as_posix()}"\nfunction = "{function}"\n'
            f'root = "{shown.parent.as_posix()}"\n\n'
            f'[loop]\nclass = "MeasuredLoop"\nto = "{path.stem}_measured_loop.py"\nmethod = "run"\n'
        )
        answer, row = _measured_loop(plan, root)
        verdict, codes = answer.failed or _verdict(row), []
        while row is not None and "--accept" in (row["reason"] or ""):
            codes.append(row["code"])
            plan += f'\n[[accept]]\ncode = "{row["code"]}"\nreason = "to measure"\n'
            _, row = _measured_loop(plan, root)
        if codes and row is not None and row["status"] == "lifted":
            verdict = f"lifted if accepted: {', '.join(codes)}"
        yield f"loop {shown.as_posix()} {function}: {verdict}"


def _measured_loop(plan: str, root: Path) -> tuple[Answer, dict[str, Any] | None]:
    """Return the verdicts on a plan, and the row of its loop."""
    answer = _carried_out(plan, root)
    rows = answer.document["helpers"] if answer.document is not None else []
    return answer, next((row for row in rows if row["name"] == "MeasuredLoop"), None)


def _carried_out(plan: str, root: Path) -> Answer:
    """Return the verdicts of ``extract --plan`` on a plan."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "plan.toml"
        written.write_text(plan, encoding="utf-8")
        return run("extract", ["--plan", written, "--root", root])


def _proposed(root: Path, path: Path) -> Iterator[str]:
    """A line for the plan that the audit proposes for a file."""
    shown = path.relative_to(root).as_posix()
    with contextlib.chdir(root):
        answer = run("audit", [path])
    if answer.document is None:
        yield f"plan {shown}: {answer.failed}"
    elif answer.document["plan"] is None:
        yield f"plan {shown}: none proposed"
    else:
        # Its paths are relative to the nearest folder that has settings.
        project = path.parents[answer.document["path"].count("/")]
        done = _carried_out(answer.document["plan"], project)
        rows = done.document["helpers"] if done.document is not None else []
        refused = sorted({row["code"] for row in rows if row["status"] == "refused"})
        verdict = done.failed or (f"refused {', '.join(refused)}" if refused else "carried out")
        yield f"plan {shown}: {verdict}"


def _planned(root: Path, plan: Path) -> Iterator[str]:
    """A line for each helper that a plan names, and for its loop; plans of others are given as files."""
    answer = run("extract", ["--plan", plan, "--root", root])
    given = tomllib.loads(plan.read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in (answer.document or {"helpers": []})["helpers"]}
    for name in [*(name for move in given["move"] for name in move["names"]), given["loop"]["class"]]:
        yield f"planned {name}: {answer.failed or _verdict(rows.get(name))}"


def _verdict(row: dict[str, Any] | None) -> str:
    """Return the verdict in the report's row of a thing."""
    if row is None:
        return "no row"
    return f"refused {row['code']}" if row["status"] == "refused" else str(row["status"])


def _places(root: Path) -> list[str]:
    """A line for each function and code with places that stall the device: how often, by heat."""
    answer = run("hotpath", [root, "--root", root, "--heat", "all", "--allow-no-loops"])
    if answer.document is None:
        return [f"places all: {answer.failed}"]
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for found in answer.document["findings"]:
        key = (found["path"], found["function"] or "<module>", found["code"], found["heat"] or "-")
        counts[key] += 1
    return [f"place {' '.join(key)}: {count}" for key, count in counts.items()]


def _review(kind: str, name: str, root: Path) -> str:
    """A line for a refactoring: how many statements and other rows the review leaves of it."""
    with tempfile.TemporaryDirectory() as folder:
        head = Path(folder) / root.name
        shutil.copytree(root, head, ignore=shutil.ignore_patterns(".git"), symlinks=True)
        base = Path(folder) / "base" / root.name
        shutil.copytree(head, base, symlinks=True)
        files = [head / path.relative_to(root) for path in plannable(root)]
        changed = refactorings.refactor(kind, head, files, name)
        if not changed:
            return f"review {kind}: nothing to refactor"
        answer = run("review", ["--base", base, "--head", head])
    if answer.document is None:
        return f"review {kind}: {answer.failed}"
    document = answer.document
    kinds = ("imports", "dropped", "order", "early", "lost", "met", "not_judged")
    rows = sum(len(document.get(each, ())) for each in kinds)
    left = document["left"]["before"] + document["left"]["after"]
    counts = f"{left} statements, {rows} other rows; {len(document['definitions'])} definitions"
    return f"review {kind}: left {left + rows} ({counts})"
