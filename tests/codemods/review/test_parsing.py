"""The second version of a file, parsed with the help of the first, is what the parser makes of it."""

import ast
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from codemods.review.lines import Lines
from codemods.review.parsing import Trees
from tests.codemods.review.conftest import Files, Reviewed

F = "def f(x):\n    return x + 1\n"
G = "@d(1)\ndef g(x):\n    if x:\n        return f(x)\n    return '''\n  a'''\n"
A = (
    'class A(B):\n    """Says A."""\n\n    x = 1\n\n    def m(self):\n        return self.x\n\n'
    "    @property\n    def n(self): return 2  # two\n"
)
METHODS = A[A.index("    def m") :]
FIRST = F + G + A + "async def h(): pass\n"
VERSIONS = {
    "the same": FIRST,
    "further down": "# a comment\nimport a\n\n" + FIRST,
    "in another order": A + "\n" + G + F,
    "other line ends": FIRST.replace("\n", "\r\n"),
    "in a text": 'x = """\n' + FIRST + '"""\n' + F,
    "in two texts": "x = '''\n" + F + "'''\ny = '''\n" + F + "'''\n",
    "between two texts": "x = '''\n'''\n" + F + "y = '''\n'''\n",
    "a text around the end": "x = '''\n" + F + "''' + g(1)\n",
    "in brackets": "x = (\n" + F + ")\n",
    "under a decorator": "@d\n" + F + "@d\n" + G,
    "under a decorator, a method": A.replace("    def m", "    @d\n    def m"),
    "behind a backslash": "x = 1 + \\\n" + F,
    "behind an empty line that goes on": "\\\n" + F,
    "before a semicolon": F.rstrip() + "; y = 2\n",
    "in a function": "def o():\n    def m(self):\n        return self.x\n    return m\n",
    "in a class, after a function": "class A(B):\n    def o(self):\n        pass\n" + METHODS,
    "methods of another class": "class C:\n" + METHODS,
    "in a class in a class": "class C:\n  class A(B):\n" + METHODS,
    "under a condition": "if x:\n" + METHODS,
    "a line more": FIRST.replace("    return x + 1\n", "    return x + 1\n    return 2\n"),
    "a line of it that goes on": F.rstrip() + " + \\\n    2\n",
    "deeper": "class C:\n    def f(x):\n        return x + 1\n",
    "without its last line end": FIRST.rstrip(),
    "a byte order mark": "\ufeff" + FIRST,
    "another encoding": "# coding: latin-1\n" + FIRST,
    "a syntax error": FIRST + "x = = 1\n",
    "a class without a body": "class A(B):\n" + F,
    "an else for it": F + "else:\n    pass\n",
    "twice": F + F + A + A,
}


def lines_of(node: ast.AST) -> list[tuple[int, int]]:
    inside = (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))
    return [(child.lineno, child.end_lineno or 0) for child in inside]


def parsed(first: str, second: str) -> ast.Module:
    trees = Trees()
    versions = [text.encode() for text in (first, second)]
    return [trees.of("a.py", data, Lines(data)) for data in versions][1]


def tree_or_error(*versions: str) -> ast.Module | tuple[str, int | None]:
    try:
        *before, text = (VERSIONS[name] for name in versions)
        return parsed(before[0], text) if before else ast.parse(text.encode())
    except SyntaxError as error:
        return error.msg, error.lineno


@pytest.mark.parametrize(
    ("first", "second"),
    list(itertools.product(["the same", "twice", "in another order"], VERSIONS)),
)
def test_trees_are_those_of_the_parser(first: str, second: str) -> None:
    tree, plain = tree_or_error(first, second), tree_or_error(second)
    if isinstance(tree, tuple) or isinstance(plain, tuple):
        assert tree == plain
        return
    assert ast.dump(tree) == ast.dump(plain)
    for mine, theirs in zip([tree, *tree.body], [plain, *plain.body], strict=True):
        if isinstance(theirs, ast.Module | ast.ClassDef):
            assert lines_of(mine) == lines_of(theirs)


def test_this_file_below_something_else() -> None:
    text = Path(__file__).read_text("utf-8")
    assert ast.dump(parsed(text, "x = 1\n" + text)) == ast.dump(ast.parse("x = 1\n" + text))


def test_lines_are_those_of_the_version(compare: Callable[[Files, Files], Reviewed]) -> None:
    body = "def f(x):\n    if x:\n        for y in x:\n            K.put(y)\n    return K\n"
    method = "class A:\n    x = 1\n    def m(self):\n        with self:\n            return K\n"
    reviewed = compare(
        {"a.py": "from m import K\n" + body + method},
        {"a.py": "from n import K\n# one\n# two\n" + body + method},
    )
    assert reviewed.left("gone") == {("a.py", line) for line in (5, 6, 11)}
    assert reviewed.left("new") == {("a.py", line) for line in (7, 8, 13)}
