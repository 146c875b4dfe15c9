"""Options of a program, read from its text: argparse, click, dataclasses, overridden globals."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ci.init.marks import guarded

# What makes options of the fields of a class that it is handed.
_PARSERS_OF_CLASSES = {"cli", "HfArgumentParser", "parse", "add_arguments", "simple_parse"}
# Where a word begins in the middle of a name like manualSeed.
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        name: as it is written on the command line; of a positional argument without dashes.
        default: its literal, where there is one.
        switch: for truth values: the word that switches it off, ``""`` where leaving it out does.
        command: the sub-command that it belongs to.
        required: the program can't do without.
        joined: written as ``--name=value``.
    """

    name: str
    default: object = field(default=None, hash=False)  # it may be a list
    switch: str | None = None
    command: str | None = None
    required: bool = False
    joined: bool = False

    @property
    def role(self) -> str:
        """Its name in the spelling that options are known by."""
        name = self.name.lstrip("-").rpartition(".")[2].replace("_", "-")
        return _HUMP.sub("-", name).lower()


def without_start(tree: ast.Module) -> ast.Module:
    """Return a module without the statements that run only where it is the script."""
    return ast.Module([node for node in tree.body if not guarded(node)], tree.type_ignores)


def read_options(tree: ast.Module) -> list[Option]:
    """Return the options that a module declares."""
    parsers = _sub_parsers(tree)
    found = list(_dataclasses(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) == "add_argument":
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            command = parsers.get(owner.id) if isinstance(owner, ast.Name) else None
            found += _declared(node, command, flag=_text(node, "action") in ("store_true", "store_false"))
        elif isinstance(node, ast.FunctionDef):
            command = _click_command(node)
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and _name(call.func) == "option":
                    found += _declared(call, command, flag=_keyword(call, "is_flag") is True)
    return [*found, *_globals(tree)]


def sub_commands(tree: ast.Module) -> list[str]:
    """Return the names of sub-commands that a module declares."""
    declared = list(_sub_parsers(tree).values())
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return list(dict.fromkeys([*declared, *(name for node in nodes if (name := _click_command(node)))]))


def _declared(node: ast.Call, command: str | None, *, flag: bool) -> Iterator[Option]:
    names = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if names and not names[0].startswith("-"):
        optional = any(keyword.arg in ("nargs", "default") for keyword in node.keywords)
        yield Option(names[0], command=command, required=not optional)
        return
    long = next((n for n in names if n.startswith("--")), None) or next(
        (n for n in names if len(n) > 2 and n[0] == "-"), None
    )
    if long is None:
        return
    name, _, off = long.partition("/")
    if _text(node, "action") == "BooleanOptionalAction":
        off = f"--no-{name[2:]}"
    switch = off or ("" if flag else None)
    yield Option(name, _keyword(node, "default"), switch, command, _keyword(node, "required") is True)


def _sub_parsers(tree: ast.Module) -> dict[str, str]:
    """Return the variables that hold the parsers of sub-commands, with their names."""
    return {
        target.id: str(node.value.args[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and _name(node.value.func) == "add_parser"
        and node.value.args
        and isinstance(node.value.args[0], ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _click_command(node: ast.FunctionDef) -> str | None:
    """Return the name of a function that is a sub-command of a group; a command by itself has none."""
    for item in node.decorator_list:
        call = item.func if isinstance(item, ast.Call) else item
        if isinstance(call, ast.Attribute) and call.attr == "command":
            if isinstance(call.value, ast.Name) and call.value.id in ("click", "typer"):
                return None
            first = item.args[0] if isinstance(item, ast.Call) and item.args else None
            named = isinstance(first, ast.Constant) and isinstance(first.value, str)
            return str(first.value) if named else node.name.replace("_", "-")  # type: ignore[union-attr]
    return None


def _dataclasses(tree: ast.Module) -> Iterator[Option]:
    """Yield the fields of a class that is handed to a parser which makes options of them."""
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and _name(node.func) in _PARSERS_OF_CLASSES):
            continue
        under = "_" if _name(node.func) == "HfArgumentParser" else "-"
        for argument in node.args:
            items = argument.elts if isinstance(argument, ast.Tuple | ast.List) else [argument]
            for item in items:
                if isinstance(item, ast.Name) and item.id in classes:
                    yield from _fields(classes[item.id], under)


def _fields(node: ast.ClassDef, under: str) -> Iterator[Option]:
    for stated in node.body:
        if isinstance(stated, ast.AnnAssign) and isinstance(stated.target, ast.Name):
            name = stated.target.id.replace("_", under)
            default = _literal(stated.value) if stated.value is not None else None
            truth = isinstance(stated.annotation, ast.Name) and stated.annotation.id == "bool"
            switch = f"--no{under}{name}" if truth else None
            yield Option(f"--{name}", default, switch, None, stated.value is None)


def _globals(tree: ast.Module) -> Iterator[Option]:
    """Yield literals of a flat script that its command line, or a file that it executes, overrides."""
    names = {_name(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    text = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    argv = any(isinstance(node, ast.Attribute) and node.attr == "argv" for node in ast.walk(tree))
    by_hand = "globals" in names and argv
    if not (by_hand or ("exec" in names and any("config" in t and t.endswith(".py") for t in text))):
        return
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, _literal(node.value)
            if isinstance(value, bool | int | float | str) and not name.startswith("_"):
                off = "False" if isinstance(value, bool) else None
                yield Option(f"--{name}", value, off, joined=True)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _keyword(node: ast.Call, name: str) -> object:
    return next((_literal(k.value) for k in node.keywords if k.arg == name), None)


def _text(node: ast.Call, name: str) -> str:
    value = next((k.value for k in node.keywords if k.arg == name), None)
    if isinstance(value, ast.Constant):
        return str(value.value)
    return _name(value) if value is not None else ""


def _literal(node: ast.expr) -> object:
    """Return the value of a literal; None of what is computed."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
