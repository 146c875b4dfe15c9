"""What a ``hydra.main`` reads: the keys of its configuration file, and the classes that its files name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

_CLASS = re.compile(r"^\s*(?:_target_|class|cls|target)\s*:\s*[\"']?([A-Za-z_][\w.]*)\.\w+", re.MULTILINE)
Key = tuple[str, Literal["bare"], object, str | None]


def keys(node: ast.FunctionDef, path: Path) -> Iterator[Key]:
    """Keys of the configuration file of a ``hydra.main``, with default and what switches them off."""
    for file in _files(node, path):
        yield ("hydra.run.dir", "bare", "outputs", None)
        lines = file.read_text("utf-8", "replace").splitlines() if file.is_file() else []
        above: list[tuple[int, str]] = []
        for line in lines:
            key, colon, value = line.split("#")[0].partition(":")
            if not colon or not key.strip() or key.strip().startswith("-"):
                continue
            indent = len(key) - len(key.lstrip())
            above = [(i, k) for i, k in above if i < indent] + [(indent, key.strip())]
            if value.strip():
                dotted = ".".join(k for _, k in above)
                off = "false" if value.strip().lower() in ("true", "false") else None
                yield (dotted, "bare", _value(value.strip()), off)


def modules(tree: ast.Module, path: Path) -> Iterator[str]:
    """The modules of classes that files beside a module's configuration name, to be made by hydra."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            for file in _files(node, path):
                for beside in sorted(file.parent.rglob("*.yaml")):
                    yield from _CLASS.findall(beside.read_text("utf-8", "replace"))


def _files(node: ast.FunctionDef, path: Path) -> Iterator[Path]:
    """The configuration files of the ``hydra.main`` of a function in a file."""
    for call in node.decorator_list:
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "hydra.main":
            given = {k.arg: k.value.value for k in call.keywords if isinstance(k.value, ast.Constant)}
            folder = str(given.get("config_path") or ".")
            name = f"{str(given.get('config_name')).removesuffix('.yaml')}.yaml"
            # Before hydra 1.0 the path is that of the file.
            yield path.parent / (folder if folder.endswith(".yaml") else f"{folder}/{name}")


def _value(text: str) -> object:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text.strip("\"'")
