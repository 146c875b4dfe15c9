"""The items of a tree's tests: settings, plugins, which tests there are, and which are skipped."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ci.changes.compare import Item
from ci.changes.place import Side, file, sections, tables
from ci.changes.settings import PYTEST, settings

# In any folder: pytest takes the nearest above the tests.
_INI = ("pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", ".coveragerc")
_TOML = ("pytest.toml", ".pytest.toml", "pyproject.toml")
_OWN = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
_SECTIONS = re.compile(r"pytest|tool:pytest|coverage:.*|run|report|paths")
# What programs that may run tests read, beside what the command names.
_RUNNERS = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "tox": ("tox.ini", "tox.toml"),
    "nox": ("noxfile.py",),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "invoke": ("tasks.py",),
    "inv": ("tasks.py",),
    "hatch": ("hatch.toml",),
}
_TESTS = ("test_*.py", "*_test.py")
# Where pytest looks for none, by default.
_UNSEEN = re.compile(r"(^|/)(\.[^/]+|[^/]+\.egg|_darcs|build|CVS|dist|node_modules|venv)/")
_QUOTED = re.compile(r"[\"']([A-Za-z_][\w.]*)[\"']")
_PLUGIN = re.compile(r"-p[\s=]*([A-Za-z_][\w.]*)")
# Words by which a test is not run, or does not count; a class with a constructor holds none for pytest.
_SKIPS = re.compile(
    r"\b(skip|skip[iI]f|skipUnless|skipTest|SkipTest|xfail|importorskip|expectedFailure|collect_ignore\w*"
    r"|__test__|deselect|pytest_plugins|_exit|pytest\.exit|load_tests|__init__|__new__)\b"
    r"|parametrize\(.*[\[(]\s*[\])]\s*\)"
)


def pytest_settings(side: Side) -> Iterator[Item]:
    """Yield what pytest and coverage read, in any folder."""
    for path in side.files:
        name = path.rpartition("/")[2]
        if name in _INI or name in _TOML:
            title = "tests.settings" if path == "pyproject.toml" else f"tests.settings.{path}"
            yield from settings(title, path, _settings(side, path), PYTEST)


def _settings(side: Side, path: str) -> dict[str, Any]:
    name, text = path.rpartition("/")[2], side.text(path)
    # Its presence alone decides which file counts.
    found: dict[str, Any] = {"there": True} if name in _OWN else {}
    if name in _INI:
        return found | {key: it for key, it in sections(text, path).items() if _SECTIONS.fullmatch(key)}
    every = tables(text, path)
    if name != "pyproject.toml":
        return found | dict(every)
    tools = every.get("tool", {})
    words = side.config.tests.command if side.config.tests else ()
    found = {key: tools[key] for key in dict.fromkeys(("pytest", "coverage", *words)) if key in tools}
    if points := every.get("project", {}).get("entry-points", {}).get("pytest11"):
        found["pytest11"] = points
    return found


def plugins(side: Side) -> Iterator[Item]:
    """Yield files that change how pytest collects, runs and reports."""
    named = set(_PLUGIN.findall(" ".join(side.config.tests.command if side.config.tests else ())))
    for path in side.files:
        if path.rpartition("/")[2] in (*_INI, *_TOML):
            named |= set(_PLUGIN.findall(re.sub(r"[\"',]", " ", side.text(path))))
    conftests = [path for path in side.texts if path.rpartition("/")[2] == "conftest.py"]
    for path in conftests:
        if "pytest_plugins" in side.text(path):
            named |= set(_QUOTED.findall(side.text(path)))
    ends = tuple(f"/{name.replace('.', '/')}{end}" for name in named for end in (".py", "/__init__.py"))
    for path in dict.fromkeys([*conftests, *(path for path in side.texts if f"/{path}".endswith(ends))]):
        yield file("tests.plugins", side, path, may_come=False)


def runners(side: Side) -> Iterator[Item]:
    """Yield files that the test command names, and what the programs in it read."""
    words = side.config.tests.command if side.config.tests else ()
    every = " ".join(words).split()
    named = {name for word in every for name in _RUNNERS.get(word.rpartition("/")[2], ())}
    scripts = {word.removeprefix("./") for word in every}
    for path in side.files:
        if path in named or (path in scripts and not _is_test(path)):
            yield file("tests.command", side, path, may_come=False)


def _is_test(path: str) -> bool:
    return any(fnmatch.fnmatch(path.rpartition("/")[2], pattern) for pattern in _TESTS)


def cases(side: Side) -> Iterator[Item]:
    """Yield the tests where the command looks for them, each with the lines by which it may be skipped."""
    words = side.config.tests.command if side.config.tests else ()
    places = [word.removeprefix("./").rstrip("/") for word in words[1:] if (side.root / word).exists()]
    seen: Counter[str] = Counter()
    for path, text in side.texts.items():
        below = not places or any(place in (".", path) or path.startswith(f"{place}/") for place in places)
        if below and _is_test(path) and not _UNSEEN.search(path):
            for name, lines in _cases(text).items():
                seen[name] += 1
                case = name, seen[name]
                yield Item("tests.cases", path, case, shown=name, may="come")
                for line in sorted(lines):
                    shown = f"`{line}`, which may skip {name}"
                    within = "tests.cases", case
                    yield Item("tests.cases", path, (case, line), shown=shown, may="go", within=within)


def _cases(text: str) -> dict[str, frozenset[str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    found: dict[str, ast.stmt] = {}
    # Not those below an `if`, which may never be there.
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            methods = [each for each in node.body if _is_case(each)]
            found |= {f"{node.name}.{each.name}": each for each in methods if isinstance(each, _FUNCTION)}
        elif isinstance(node, _FUNCTION) and _is_case(node):
            found[node.name] = node
        else:
            for each in ast.walk(node):
                if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
                    found.pop(each.id, None)
    lines = text.splitlines()
    own = {name: _lines(node) for name, node in found.items()}
    shared = {*range(1, len(lines) + 1)} - {number for numbers in own.values() for number in numbers}
    return {
        name: frozenset(
            " ".join(lines[number - 1].split())
            for number in (*shared, *numbers)
            if _SKIPS.search(lines[number - 1])
        )
        for name, numbers in own.items()
    }


_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def _is_case(node: ast.stmt) -> bool:
    return isinstance(node, _FUNCTION) and node.name.startswith("test")


def _lines(node: ast.stmt) -> range:
    decorators = [each.lineno for each in getattr(node, "decorator_list", ())]
    return range(min([node.lineno, *decorators]), (node.end_lineno or node.lineno) + 1)


def skips(side: Side) -> Iterator[Item]:
    """Yield lines by which tests may be skipped from outside: of files that know of pytest or unittest."""
    for path, text in side.texts.items():
        if _is_test(path) or not re.search(r"\b(pytest|unittest)\b", text):
            continue
        lines = [" ".join(line.split()) for line in text.splitlines() if _SKIPS.search(line)]
        seen: Counter[str] = Counter()
        for line in lines:
            if "def __" not in line:
                seen[line] += 1
                yield Item("tests.skips", path, (path, line, seen[line]), shown=f"`{line}`", may="go")
