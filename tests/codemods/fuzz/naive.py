"""A lifter that many people would write, and that is wrong: the generator of programs must find it out."""

from __future__ import annotations

import ast
import json
import symtable
import sys
from pathlib import Path


def main(argv: list[str]) -> int:
    """Lift every helper of the file's functions, passing whatever names it captures."""
    path = Path(argv[0])
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    frees = _free_names(symtable.symtable(text, path.name, "exec"))
    entries = []
    for outer in [node for node in tree.body if isinstance(node, ast.FunctionDef)]:
        for helper in [node for node in outer.body if isinstance(node, ast.FunctionDef)]:
            captures = frees.get((helper.name, helper.lineno), set()) - {helper.name}
            _lift(tree, outer, helper, captures)
            entries.append({"name": helper.name, "qualname": helper.name, "status": "lifted", "code": None})
    path.write_text(ast.unparse(ast.fix_missing_locations(tree)) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps({"version": 1, "files": [], "helpers": entries}))
    return 0


def _free_names(table: symtable.SymbolTable) -> dict[tuple[str, int], set[str]]:
    found = {}
    for child in table.get_children():
        found.update(_free_names(child))
        if isinstance(child, symtable.Function):
            found[child.get_name(), child.get_lineno()] = set(child.get_frees())
    return found


def _lift(tree: ast.Module, outer: ast.FunctionDef, helper: ast.FunctionDef, captures: set[str]) -> None:
    lifted = f"_{outer.name}_{helper.name}_{helper.lineno}"
    outer.body.remove(helper)
    outer.body = outer.body or [ast.Pass()]
    for node in ast.walk(outer):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == helper.name:
            node.func.id = lifted
            node.keywords += [
                ast.keyword(arg=capture, value=ast.Name(id=capture, ctx=ast.Load()))
                for capture in sorted(captures)
            ]
    helper.name = lifted
    helper.args.kwonlyargs += [ast.arg(arg=capture) for capture in sorted(captures)]
    helper.args.kw_defaults += [None for _ in captures]
    tree.body.insert(tree.body.index(outer), helper)
