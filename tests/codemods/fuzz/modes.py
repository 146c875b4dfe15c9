"""The ways in which the tool is asked to lift a program's helpers."""

from __future__ import annotations

import ast
import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Mode = Literal["plain", "file", "split", "residual", "box", "context", "mixed", "loop"]
MODES: tuple[Mode, ...] = ("plain", "file", "residual", "context", "loop", "box", "split", "mixed")
"""They take turns from seed to seed."""
Helpers = tuple[tuple[str, str, str], ...]
"""What the tool says of each helper when it is asked for nothing special: qualified name, status, code."""
_ANYWHERE = ("loop", "box", "mixed")


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
        case "context":
            return Asked(("program.py", "--captures", "context", *_target(text)))
        case "residual" | "box":
            return _named(mode, text, helpers)
        case "split":
            return _plan(_moves(helpers, Counter(_bare(helpers)), ()))
        case "mixed":
            return _mixed(text, helpers)
        case "loop":
            return _loop(text, helpers)


def moves_lines(mode: Mode) -> bool:
    """Tell whether lines that name no helper may change in a mode."""
    return mode in _ANYWHERE


def _bare(helpers: Helpers) -> list[str]:
    return [qualname.rpartition(".")[2] for qualname, _, _ in helpers]


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


def _mixed(text: str, helpers: Helpers) -> Asked | None:
    """Ask for several rewrites at once, on the command line or in a plan."""
    names = Counter(_bare(helpers))
    residual = [q for q, status, code in helpers if code == "value-use" or _coin("residual", q)]
    box = [q for q, status, _ in helpers if status != "lifted" and _coin("box", q) and q not in residual]
    if _coin("plan", text[-60:]):
        extra = [f"captures = {json.dumps('context' if _coin('context', text[-50:]) else 'params')}"]
        return _plan(_moves(helpers, names, extra, residual=residual, box=box))
    parts = [part for q in residual for part in ("--wrapper", q)] + [p for q in box for p in ("--cell", q)]
    context = ("--captures", "context") if _coin("context", text[-50:]) else ()
    return Asked(("program.py", *parts, *context, *_target(text))) if parts or context else None


def _moves(
    helpers: Helpers,
    names: Counter[str],
    extra: Sequence[str],
    residual: Sequence[str] = (),
    box: Sequence[str] = (),
) -> list[str]:
    """Deal out to two files the helpers that can be lifted, or are named, and share no name."""
    wanted = {q for q, status, _ in helpers if status == "lifted"} | {*residual, *box}
    chosen = [q.rpartition(".")[2] for q, _, _ in helpers if q in wanted and names[q.rpartition(".")[2]] == 1]
    found = []
    for to, part in (("one", chosen[::2]), ("two", chosen[1::2])):
        if part:
            lines = ["[[move]]", f'to = "{to}.py"', f"names = {json.dumps(part)}", *extra]
            for key, given in (("wrapper", residual), ("cell", box)):
                if among := sorted({q.rpartition(".")[2] for q in given} & set(part)):
                    lines.append(f"{key} = {json.dumps(among)}")
            found.append("\n".join(lines) + "\n")
    return found


def _plan(moves: Sequence[str], head: str = "", tail: str = "") -> Asked | None:
    if not moves and not tail:
        return None
    text = f'version = 1\nsource = "program.py"\n{head}\n' + "\n".join([*moves, *([tail] if tail else [])])
    return Asked(("--plan", "plan.toml"), text)


def _loop(text: str, helpers: Helpers) -> Asked | None:
    """Make a class of the main loop of the last function that has one; for some programs after a move."""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    holding = [(node.name, sum(map(_has_loop, node.body))) for node in functions]
    found = [(name, number) for name, number in holding if number and name.startswith("outer")]
    if not found:
        return None
    name, number = found[-1]
    direct = tuple(entry for entry in helpers if entry[0].rpartition(".")[0] == name)
    moves = _moves(direct, Counter(_bare(direct)), ()) if _coin("moves", text[-40:]) else []
    at = 1 + zlib.crc32(text[-30:].encode()) % number
    tail = f'[loop]\nclass = "Looped"\nto = "looped.py"\nat = {at}\n'
    return _plan(moves, f'function = "{name}"\n', tail)


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
