"""Captures get the annotation that the program says for them, and none where it does not say one."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codemods.conftest import Command, Execute

PRELUDE = """\
from __future__ import annotations
from pathlib import Path
from typing import Any, Optional
import kinds
from kinds import Config, Model, Shape, load, maybe
class Own:
    size: int = 3
    def twice(self) -> int:
        return 2 * self.size
class Strange(type):
    def __call__(cls) -> int:
        return 3
class Made(metaclass=Strange):
    pass
def wrapped(f):
    return lambda: 7
@wrapped
def decorated() -> Own:
    return Own()
class Twice:
    pass
Twice = dict
def keep(*given):
    pass
"""
KINDS = """\
from __future__ import annotations
from typing import Any
from shapes import Shape
class Base:
    def __init__(self, width: int = 1) -> None:
        self.width = width
class Model(Base):
    pass
class Config:
    steps: int = 3
    name: str | None = None
    @classmethod
    def read(cls) -> "Config":
        return cls()
def anything() -> Any:
    return 3
def load(path: str) -> Model:
    return Model()
def maybe() -> Model | None:
    return Model()
def untyped():
    return Model()
"""
SHAPES = "class Shape:\n    pass\n"

# What stands in the outer function before the helper, which reads `x`; the annotation of `x` afterwards.
SAID = {
    "int": ("x = 3", "int"),
    "float": ("x = -0.5", "float"),
    "text": ("x = f'{config}'", "str"),
    "own class": ("x = Own()", "Own"),
    "class of another file": ("x = Model()", "Model"),
    "class through a module": ("x = kinds.Model()", "Model"),
    "class that the other file imports": ("x = Shape()", "Shape"),
    "result": ("x = load('p')", "Model"),
    "result of a class method": ("x = Config.read()", "Config"),
    "length": ("x = len('three')", "int"),
    "comparison": ("x = config.name is not None", "bool"),
    "negation": ("x = not config", "bool"),
    "field": ("x = config.steps", "int"),
    "another variable": ("y = Model()\n    x = y", "Model"),
    "standard library": ("x = Path('p')", "Path"),
    "bindings that agree": ("x = 1\n    if config:\n        x = 2", "int"),
    "augmented": ("x = 1\n    x += 1", "int"),
    "None or one type": ("x = None\n    if config:\n        x = Model()", "Model | None"),
    "None at first": ("x: Model | None = None\n    x = Model()", "Model | None"),
    "declared": ("x: dict[str, Any] = {}", "dict[str, Any]"),
    "declared optional": ("x: Optional[Model] = maybe()", "Optional[Model]"),
    "declared in quotes": ("x: 'int' = 3", "int"),
    "declared first": ("x: int\n    x = 3", "int"),
}
NOT_SAID = {
    "optional result": "x = maybe()",
    "no annotation": "x = kinds.untyped()",
    "anything": "x = kinds.anything()",
    "nothing is known of it": "x = keep",
    "bindings that differ": "x = 1\n    if config:\n        x = 'a'",
    "one binding unknown": "x = 1\n    if config:\n        x = keep()",
    "only None": "x = None",
    "another metaclass": "x = Made()",
    "a decorator that may change the result": "x = decorated()",
    "a name that is bound twice": "x = Twice()",
    "a class of the function itself": "class Local: pass\n    x = Local()",
    "a name that means something else here": "Model = dict\n    x = Model()",
    "a length that means something else here": "len = keep\n    x = len('three')",
    "an attribute that is not declared": "x = Model().width",
    "an optional field, perhaps tested": "x = config.name",
    "declared twice": "x: int = 1\n    if config:\n        x: int = 2",
}


def _program(setup: str) -> str:
    return PRELUDE + (
        f"def outer(config: Config):\n    {setup}\n    def h():\n        return x\n    return h()\n"
        "print(type(outer(Config())).__name__)\n"
    )


@pytest.fixture
def annotation(tmp_path: Path, extract: Command) -> Callable[[str], str | None]:
    """Lift the helper of a program to another file; the annotation of its new parameter."""

    def of(program: str) -> str | None:
        (tmp_path / "pyproject.toml").touch()
        (tmp_path / "kinds.py").write_text(KINDS)
        (tmp_path / "shapes.py").write_text(SHAPES)
        (tmp_path / "program.py").write_text(program)
        ran = extract(
            tmp_path / "program.py",
            "--to",
            tmp_path / "made.py",
            "--write",
            "--output-format",
            "json",
        )
        assert ran.helpers["h"]["status"] == "lifted", ran.out
        made = ast.parse((tmp_path / "made.py").read_text())
        function = next(n for n in made.body if isinstance(n, ast.FunctionDef) and n.name == "h")
        found = function.args.kwonlyargs[0].annotation
        return None if found is None else ast.unparse(found)

    return of


@pytest.mark.parametrize("case", SAID)
def test_what_the_program_says(case: str, annotation: Callable[[str], str | None]) -> None:
    setup, expected = SAID[case]
    assert annotation(_program(setup)) == expected


@pytest.mark.parametrize("case", NOT_SAID)
def test_nothing_is_guessed(case: str, annotation: Callable[[str], str | None]) -> None:
    assert annotation(_program(NOT_SAID[case])) is None


def test_none_where_the_project_may_check_annotations_when_it_runs(
    tmp_path: Path, annotation: Callable[[str], str | None]
) -> None:
    (tmp_path / "conftest.py").write_text("from beartype.claw import beartype_this_package\n")
    assert annotation(_program("x = 3")) is None


def test_where_annotations_are_evaluated_they_are_text(annotation: Callable[[str], str | None]) -> None:
    evaluated = _program("x = Model()").removeprefix("from __future__ import annotations\n")
    assert annotation(evaluated) == "'Model'"


def test_the_made_files_run(
    tmp_path: Path, annotation: Callable[[str], str | None], execute: Execute
) -> None:
    """All cases in one program: it prints what it printed, and the new file loads by itself."""
    outers = "".join(
        f"def outer_{i}(config: Config):\n    {setup}\n    def h_{i}():\n        return x\n"
        f"    return h_{i}()\n"
        f"print(type(outer_{i}(Config())).__name__)\n"
        for i, (setup, _) in enumerate(SAID.values())
    )
    program = _program("x = Own()") + outers
    for text in (program, program.removeprefix("from __future__ import annotations\n")):
        for name in ("made.py", "program.py"):
            (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / "kinds.py").write_text(KINDS)
        (tmp_path / "shapes.py").write_text(SHAPES)
        (tmp_path / "program.py").write_text(text)
        before = execute(tmp_path, "program.py")
        assert annotation(text) is not None
        assert execute(tmp_path, "program.py") == before
        execute(tmp_path, "made.py")


@pytest.mark.slow
def test_annotations_that_name_classes_of_torch_and_numpy_are_evaluated_once(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    text = (
        "import numpy as np\nimport torch\nfrom torch import nn\nfrom typing import Optional\n"
        "def outer(n):\n"
        "    def h(x: torch.LongTensor | None, y: Optional[torch.Tensor] = None) -> nn.Module | int:\n"
        "        return n\n"
        "    def g(x: list[torch.Tensor], y: np.dtype | np.ndarray) -> torch.optim.Optimizer | None:\n"
        "        return n\n"
        "    return h(None), g([], 1)\n"
        "print(outer(2))\n"
    )
    train = tmp_path / "train.py"
    train.write_text(text)
    before = execute(tmp_path, train)
    ran = extract(train, "--write", "--output-format", "json")
    assert [helper["status"] for helper in ran.json["helpers"]] == ["lifted", "lifted"]
    assert execute(tmp_path, train) == before


def test_imports_for_type_checkers_stand_apart(tmp_path: Path, extract: Command) -> None:
    setup = "x = Path('p')\n    y = Model()"
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "kinds.py").write_text(KINDS)
    (tmp_path / "program.py").write_text(_program(setup).replace("return x\n", "return x, y\n"))
    ran = extract(tmp_path / "program.py", "--to", tmp_path / "made.py", "--write")
    assert ran.code == 0, ran.out
    made = (tmp_path / "made.py").read_text()
    assert "if TYPE_CHECKING:\n    from kinds import Model\n    from pathlib import Path\n" in made
