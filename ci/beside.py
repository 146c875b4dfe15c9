"""Install the gate beside an environment, for ``ci/action.yml``: into one of its own that sees the other.

Needs the standard library only, and runs with the Python whose packages are kept.
"""

from __future__ import annotations

import hashlib
import site
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

_SOURCE = Path(__file__).resolve().parents[1]
# An environment brings its own.
_OWN = {"esper-harness", "pip", "setuptools", "wheel"}


def pins() -> dict[str, str]:
    """Return the installed packages of this Python, with their versions."""
    found = {d.metadata["Name"].lower().replace("_", "-"): d.version for d in distributions()}
    return {name: version for name, version in sorted(found.items()) if name not in _OWN}


def key(kept: dict[str, str]) -> str:
    """Return a digest of everything that an environment depends on: an equal one can be used again."""
    text = [sys.executable, sys.version, *(f"{name}=={version}" for name, version in kept.items())]
    text += [path.read_text(encoding="utf-8") for path in sorted(_SOURCE.rglob("*.py")) if _ours(path)]
    text.append((_SOURCE / "pyproject.toml").read_text(encoding="utf-8"))
    return hashlib.sha256("\n".join(text).encode()).hexdigest()[:32]


def _ours(path: Path) -> bool:
    return path.relative_to(_SOURCE).parts[0] in ("ci", "codemods", "esper_harness", "golden")


def install(folder: Path, kept: dict[str, str]) -> int:
    """Make the environment ``folder``; the exit status."""
    if "torch" not in kept:
        print(
            "golden-gate: no torch in this Python; install your project before the gate "
            "(a small one: pip install torch --index-url https://download.pytorch.org/whl/cpu)",
            file=sys.stderr,
        )
        return 2
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    # Some Pythons bring one with pip; it would hide theirs.
    subprocess.run([*pip, "uninstall", "--quiet", "--yes", "setuptools"], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    # After its own packages, and with what installs itself there by other means than a path.
    lines = [f"import site; site.addsitedir({path!r})\n" for path in folders if Path(path).is_dir()]
    (packages / "theirs.pth").write_text("".join(lines), encoding="utf-8")
    constraints = folder / "theirs.txt"
    text = "".join(f"{name}=={version}\n" for name, version in kept.items())
    constraints.write_text(text, encoding="utf-8")
    command = [*pip, "install", "--constraint", str(constraints), f"{_SOURCE}[gate,report]"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        # What pip says of a conflict is indented among what it says of its progress.
        conflict = [line for line in done.stdout.splitlines() if line.startswith("    ")]
        print(
            *conflict,
            "golden-gate: can't be installed beside this Python's packages without replacing one of them; "
            "see above which",
            sep="\n",
            file=sys.stderr,
        )
        return 2
    return 0


def main(argv: list[str]) -> int:
    """``key``, or ``install FOLDER``."""
    match argv:
        case ["key"]:
            print(key(pins()))
            return 0
        case ["install", folder]:
            return install(Path(folder), pins())
    print("usage: beside.py key | install FOLDER", file=sys.stderr)
    return 2


if __name__ == "__main__":
    # This file's own folder is no place for modules.
    sys.path.pop(0)
    sys.exit(main(sys.argv[1:]))
