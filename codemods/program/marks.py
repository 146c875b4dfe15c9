"""Words by which a file shows that it looks at something that a move or a lift changes.

A word is enough: these are searched in texts. Of other files only those count that take by name what changes.
Import hooks of `beartype`, `jaxtyping` and `typeguard`, which evaluate annotations, are told alike.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from codemods.program.words import words

Mark = Literal["annotations", "derived", "doctest", "module", "pickles", "stated"]

# What each mark is, in words, after the file that has it.
SAYS: dict[Mark, str] = {
    "annotations": "may evaluate annotations",
    "derived": "may see what derives from a class",
    "doctest": "runs doctests",
    "module": "asks what is defined for its module",
    "pickles": "loads pickles, which name modules",
    "stated": "reads annotations",
}
_PATTERNS: dict[Mark, re.Pattern[bytes]] = {
    "annotations": re.compile(
        rb"\b(get_type_hints|get_annotations|eval_str|resolve_types|ForwardRef|evaluate_forward_ref|pydantic"
        rb"|cattrs|dacite|jsonargparse|msgspec|omegaconf|hydra|simple_parsing|typer|tyro)\b"
    ),
    "derived": re.compile(
        rb"\b__(init_subclass|prepare|subclasses)__\b|\bclass\s+\w+\s*\([^()]*\b(type|\w*Meta)\s*[,)]"
    ),
    "doctest": re.compile(rb"\bdoctest\b"),
    "stated": re.compile(rb"\b(__annotations__|get_annotations|get_type_hints|signature)\b"),
    "module": re.compile(rb"\b__module__\b|\bgetmodule\b|\bgetsourcefile\b"),
    "pickles": re.compile(
        rb"\b(pickle|cPickle|_pickle|cloudpickle|dill|joblib)\.(load|loads|Unpickler)\b|\bshelve\b|\bUnpickler\b"
        rb"|from\s+(pickle|dill|cloudpickle|joblib)\s+import|weights_only\s*=\s*False"
    ),
}
# One of these is in any text that has a mark, and few others.
_WORDS: dict[Mark, tuple[bytes, ...]] = {
    "derived": (b"__subclasses__", b"__init_subclass__", b"__prepare__", b"(type", b"Meta"),
    "doctest": (b"doctest",),
    "module": (b"__module__", b"getmodule", b"getsourcefile"),
    "stated": (b"annotations", b"get_type_hints", b"signature"),
}


def has_mark(data: bytes, mark: Mark) -> bool:
    """Whether a file's bytes have one of the words of a mark."""
    words = _WORDS.get(mark)
    if words is not None and not any(word in data for word in words):
        return False
    return _PATTERNS[mark].search(data) is not None


# What installs an import hook by which annotations of whole packages are checked at every call. To name it is
# enough: it may be called by another name, or taken by `getattr`. No pattern matches its own text.
_CHECKERS = re.compile(
    rb"\b(install_import[_]hook|beartype_(this_)?packages?|beartype_al[l]|beartyp[i]ng)\b"
    rb"|\b(beartype|jaxtyping|typeguard)[-_]packages\b"
    rb"|(Jaxtyping|Typeguard)(Finder|Loader)\b"
)
_CLAW = re.compile(rb"\bcla[w]\b")
_CHECKER_WORDS = (b"beartyp", b"import_hook", b"jaxtyping", b"typeguard", b"Jaxtyping", b"Typeguard")
# Files besides Python's that say how programs and tests are run.
_SETTINGS = words("""
    pyproject.toml setup.cfg pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini tox.toml Makefile
""")


def installs_checker(data: bytes) -> bool:
    """Whether a file may install a checker of annotations."""
    if not any(word in data for word in _CHECKER_WORDS):
        return False
    return _CHECKERS.search(data) is not None or (b"beartype" in data and _CLAW.search(data) is not None)


def settings_install_checker(root: Path) -> bool:
    """Whether a project's settings may install one."""
    settings = (root / name for name in _SETTINGS)
    return any(path.is_file() and installs_checker(path.read_bytes()) for path in settings)
