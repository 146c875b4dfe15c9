"""The ways in which the tool is asked to lift a program's helpers."""

from __future__ import annotations

import ast
import zlib
from dataclasses import dataclass
from typing import Literal, get_args

Mode = Literal["plain", "file", "residual", "box", "loop"]
MODES: tuple[Mode, ...] = get_args(Mode)
Helpers = tuple[tuple[str, str, str], ...]
"""What the tool says of each helper when it is asked for nothing special: qualified name, status, code."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Arguments of the tool, and the plan that they name, if they name one."""

    arguments: tuple[str, ...]
    plan: str | None = None


def ask(mode: Mode, text: str, helpers: Helpers) -> Asked | None:
    """Return what to ask for one program, or None where the mode has nothing to do with it.

    What is chosen depends on the program's text alone, so that a reduced program is asked in the same way.
    """
    match mode:
        case "plain":
            return Asked(("program.py",))
        case "file":
            return Asked(("program.py", "--to", "helpers.py"))
        case "residual" | "box":
            return _named(mode, text, helpers)
        case "loop":
            return _loop(text)


def _coin(*parts: str) -> bool:
    """A decision that depends on nothing but its arguments."""
    return zlib.crc32(" ".join(parts).encode()) % 2 == 0


def _target(text: str) -> tuple[str, ...]:
    """Another file, for every second program."""
    return ("--to", "helpers.py") if _coin(text[-40:]) else ()


def _named(mode: Literal["residual", "box"], text: str, helpers: Helpers) -> Asked | None:
    """Name the helpers that are not lifted plainly, and some of the others."""
    chosen = [q for q, status, _ in helpers if status != "lifted" or _coin(mode, q)]
    if not chosen:
        return None
    option = "--wrapper" if mode == "residual" else "--cell"
    named = (part for qualname in dict.fromkeys(chosen) for part in (option, qualname))
    return Asked(("program.py", *named, *_target(text)))


def _loop(text: str) -> Asked | None:
    """Make a class of the main loop of the last function that has one."""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    holding = [(node.name, sum(map(_has_loop, node.body))) for node in functions]
    found = [(name, number) for name, number in holding if number and name.startswith("outer")]
    if not found:
        return None
    name, number = found[-1]
    at = 1 + zlib.crc32(text[-30:].encode()) % number
    plan = f'version = 1\nsource = "program.py"\nfunction = "{name}"\n'
    plan += f'[loop]\nclass = "Looped"\nto = "looped.py"\nat = {at}\n'
    return Asked(("--plan", "plan.toml"), plan)


def _has_loop(statement: ast.AST) -> bool:
    """Tell whether a statement is a loop, or holds one, but not in a function."""
    if isinstance(statement, ast.For | ast.While | ast.AsyncFor):
        return True
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    inner = (
        node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.stmt | ast.ExceptHandler)
    )
    return not isinstance(statement, ast.Match) and any(map(_has_loop, inner))
