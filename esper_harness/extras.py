"""The extra that brings a package which a command needs."""

from __future__ import annotations

_EXTRAS = {
    "numpy": "golden",
    "safetensors": "golden",
    "torch": "golden",
    "xxhash": "golden",
    "jinja2": "report",
    "markupsafe": "report",
    "pytest": "pytest",
}


def missing_extra(error: ModuleNotFoundError, command: str, extra: str | None = None) -> str | None:
    """Say in one line what to install, if ``error`` is about a package that an extra brings; else None.

    ``extra`` is the one that brings all that the command needs, where that is more.
    """
    package = (error.name or "").partition(".")[0]
    if package not in _EXTRAS:
        return None
    found = _EXTRAS[package] if extra is None else extra
    return f"{command}: needs {package}, which is not installed: pip install 'esper-harness[{found}]'"
