"""Lists of what only makes a value of what it is given.

What is not listed may act: it may change something, read what others change, or call what it is given.
"""

from __future__ import annotations

import ast
import builtins
import sys

from codemods.program.words import words

# Modules of the standard library that do something that is seen when they are loaded.
LOUD = frozenset(
    ["__main__", "antigravity", "idlelib", "readline", "rlcompleter", "site", "this", "turtledemo"]
)
QUIET = sys.stdlib_module_names - LOUD
_KNOWN = QUIET | {"numpy", "torch", "typing_extensions"} | frozenset(dir(builtins))
# Modules whose functions and classes make values, and those of their names that do more.
_MAKERS: dict[str, frozenset[str]] = {
    "abc": frozenset(),
    "collections": frozenset(),
    "collections.abc": frozenset(),
    "dataclasses": frozenset(["make_dataclass", "replace"]),
    "decimal": frozenset(["getcontext", "localcontext", "setcontext"]),
    "enum": frozenset(),
    "fractions": frozenset(),
    "functools": frozenset(["reduce"]),
    "itertools": frozenset(),
    "math": frozenset(),
    "operator": words("""
    call delitem setitem iadd iand iconcat ifloordiv ilshift imatmul imod imul ior ipow irshift isub itruediv
    ixor
    """),
    "re": frozenset(["purge", "sub", "subn"]),
    "string": frozenset(),
    "types": frozenset(["new_class", "prepare_class", "resolve_bases"]),
    "typing": frozenset(["get_type_hints"]),
    "typing_extensions": frozenset(["get_type_hints"]),
}
_SINGLE = words("""
    contextlib.AbstractAsyncContextManager contextlib.AbstractContextManager contextlib.ContextDecorator
    contextlib.asynccontextmanager contextlib.contextmanager contextlib.nullcontext contextlib.suppress
    pathlib.Path pathlib.PurePath pathlib.PurePosixPath pathlib.PureWindowsPath
""")
_BUILT = words("""
    bool bytes classmethod dict enumerate float frozenset int len list max min object property range round
    set sorted staticmethod str sum super tuple type zip bytes.fromhex dict.fromkeys float.fromhex
    int.from_bytes str.maketrans
""")
# What else may be called, or decorate, without anything of the program being run.
HARMLESS = words("""
    logging.getLogger numpy.sqrt os.cpu_count os.path.join posixpath.join torch.compiler.disable
    torch.cuda.device_count torch.cuda.is_available torch.device torch.enable_grad torch.inference_mode
    torch.no_grad
""")


def makes(name: str) -> bool:
    """Does a call of it make a value of its arguments and nothing else?

    `name` is dotted from the module that has it; a builtin stands alone.
    """
    module, _, last = name.rpartition(".")
    if module in _MAKERS:
        return last not in _MAKERS[module]
    return name in _BUILT or name in _SINGLE


def calls_back(name: str, call: ast.Call) -> bool:
    """Does a call of a maker call what it is given, or make a class?"""
    if name == "type":
        return len(call.args) != 1 or bool(call.keywords)
    return any(keyword.arg in ("key", None) for keyword in call.keywords)


def is_known(name: str) -> bool:
    """Is a dotted name one of a module, or a builtin, that has nothing of the program?"""
    return name.partition(".")[0] in _KNOWN
