"""Import hooks of `beartype`, `jaxtyping` and `typeguard`, which evaluate annotations when a program runs."""

from __future__ import annotations

import re
from pathlib import Path

# What installs an import hook by which annotations of whole packages are checked at every call. To name it is
# enough: it may be called by another name, or taken by `getattr`. No pattern matches its own text.
_CHECKERS = re.compile(
    rb"\b(install_import[_]hook|beartype_(this_)?packages?|beartype_al[l]|beartyp[i]ng)\b"
    rb"|\b(beartype|jaxtyping|typeguard)[-_]packages\b"
    rb"|(Jaxtyping|Typeguard)(Finder|Loader)\b"
)
_CLAW = re.compile(rb"\bcla[w]\b")
_WORDS = (b"beartyp", b"import_hook", b"jaxtyping", b"typeguard", b"Jaxtyping", b"Typeguard")
# Files besides Python's that say how programs and tests are run.
_SETTINGS = (
    *("pyproject.toml", "setup.cfg", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
    *("tox.ini", "tox.toml", "Makefile"),
)


def installs_checker(data: bytes) -> bool:
    """Whether a file may install a checker of annotations."""
    if not any(word in data for word in _WORDS):
        return False
    return _CHECKERS.search(data) is not None or (b"beartype" in data and _CLAW.search(data) is not None)


def settings_install_checker(root: Path) -> bool:
    """Whether a project's settings may install one."""
    settings = (root / name for name in _SETTINGS)
    return any(path.is_file() and installs_checker(path.read_bytes()) for path in settings)
