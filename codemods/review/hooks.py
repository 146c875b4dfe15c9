"""Names by which Python, or a loader of tests, finds what a module has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codemods.review.side import Side
from codemods.review.units import Unit

# Of a test only that it is one matters.
_HOOK = re.compile(
    r"__\w+__|pytest_\w+|load_tests|(setup|teardown)(_module|_function)?|(setUp|tearDown)Module"
)
_TESTS = ("test", "Test")
_OPTIONS = ("pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "conftest.py")
# What a project says that looks for tests in files of other names.
_COLLECTS = re.compile(rb"python_files|pytest_collect|testpaths?\s*=.*\.py|--doctest|collect_file")
_STAR = re.compile(rb"import[\s\\]*\(?[\s\\]*\*")


class Hooks:
    """Asks of a unit of the base and the one of the head that it became who looks for its name."""

    def __init__(self, base: Side, head: Side) -> None:
        self._sides = base, head

    def met(self, base: Unit, head: Unit) -> bool:
        """Does its new name, or the old one, do more than to name?"""
        # A helper or a loop that is taken out was in no module's names before.
        names = [u.qualname if u.qualname.isidentifier() else "" for u in (base, head)]
        if base.name == head.name:
            return False
        if any(map(_HOOK.fullmatch, names)):
            return True
        tests = [name.startswith(_TESTS) for name in names]
        return tests[0] != tests[1] and any(
            self._is_collected(side, unit.path, name)
            for side, unit, name in zip(self._sides, (base, head), names, strict=True)
        )

    def _is_collected(self, side: Side, path: str, name: str) -> bool:
        """May a loader of tests look for a name in a file, or in one that has the name from there?"""
        if _is_of_tests(path) or any(map(_COLLECTS.search, _options(side))):
            return True
        word = re.compile(rb"\b" + name.encode() + rb"\b") if name else _STAR
        tests = (
            each for each, blob in side.tree.identities.items() if _is_of_tests(each) and " " not in blob
        )
        texts = (side.tree.read(each) for each in tests if each.endswith(".py"))
        return any(_STAR.search(text) or word.search(text) for text in texts)


def _is_of_tests(path: str) -> bool:
    return "test" in path.lower()


def _options(side: Side) -> Iterator[bytes]:
    for path, blob in side.tree.identities.items():
        if path.rpartition("/")[2] in _OPTIONS and " " not in blob:
            yield side.tree.read(path)
