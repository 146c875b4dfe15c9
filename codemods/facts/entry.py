"""Which captures a helper reads before anything else can run.

Such a read can as well be made by the caller: no other code, in this thread or another, runs between the two
that the program could tell from code running before both.
"""

from __future__ import annotations

import builtins
import dis
import types

from codemods.facts.helpers import Helper
from codemods.facts.nodes import first_line
from codemods.facts.source import Source, nested_code

_ENCODING = frozenset(["CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "NOP", "RESUME", "RETURN_GENERATOR"])
_LOADS = frozenset(["LOAD_CONST", "LOAD_DEREF", "LOAD_FAST", "LOAD_GLOBAL", "PUSH_NULL"])
_BUILDS = frozenset(["BUILD_LIST", "BUILD_TUPLE"])


def entry_reads(source: Source, helper: Helper) -> dict[str, bool]:
    """Captures read only at the helper's entry; whether an unbound one is the first thing to fail."""
    code = _code_of(source, helper)
    if code is None:
        return {}
    parameters = code.co_argcount + code.co_kwonlyargcount
    parameters += sum(bool(code.co_flags & flag) for flag in (0x04, 0x08))
    given = set(code.co_varnames[:parameters])
    handled = [
        range(entry.start, entry.end)
        for entry in dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    ]
    first: dict[str, bool] = {}
    later: set[str] = {name for inner in nested_code(code) for name in inner.co_freevars}
    at_entry, sure, made = True, True, False
    for item in dis.get_instructions(code):
        name = item.opname
        if name == "LOAD_DEREF" and item.argval in code.co_freevars:
            if at_entry:
                unhandled = not any(item.offset in part for part in handled)
                first[item.argval] = first.get(item.argval, True) and sure and unhandled
            else:
                later.add(item.argval)
        if made and name == "POP_TOP":
            made = False
            continue
        made = name == "RETURN_GENERATOR"
        at_entry = at_entry and name in _ENCODING | _LOADS | _BUILDS
        sure = sure and not (
            (name == "LOAD_GLOBAL" and not hasattr(builtins, str(item.argval)))
            or (name == "LOAD_FAST" and item.argval not in given)
            or (name == "LOAD_DEREF" and item.argval not in code.co_freevars)
        )
    return {name: alike for name, alike in first.items() if name not in later}


def _code_of(source: Source, helper: Helper) -> types.CodeType | None:
    """The helper's code object, if name and line tell which it is."""
    waiting = [source.compiled()]
    line = first_line(helper.node)
    found = []
    while waiting:
        code = waiting.pop()
        waiting.extend(nested_code(code))
        if code.co_name == helper.node.name and code.co_firstlineno == line:
            found.append(code)
    return found[0] if len(found) == 1 else None
