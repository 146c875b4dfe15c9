"""A run that is a command line: defaults for all that a run file says."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from pydantic import ValidationError

from golden.record.files import run_path
from golden.record.run import EVERYTHING, Data, Outputs, Run
from golden.trace.errors import UnusableInput

# What a command line says of itself, of all that golden fills in.
_PLACES = ("out", "seed", "data", "device", "root")
_BUDGET = 60.0
_TIMEOUT = 86400.0


def run_of(command: Sequence[str], *, root: Path, data: Path | None = None) -> Run:
    """Make a run of a command typed in ``root``: seed 0, and everything that it writes is compared.

    ``data`` is what the program reads and git does not keep. Raises `UnusableInput`.
    """
    argv = tuple(_literal(part) for part in command)
    filled = any("{data}" in part for part in argv)
    if filled and data is None:
        raise UnusableInput("the command has {data}: give the folder with --data DIR")
    table = Data() if filled else None
    if data is not None and not filled:
        full, tree = data.absolute(), root.absolute()
        if not full.is_relative_to(tree):
            raise UnusableInput(
                f"--data {data} is outside of {root}: write {{data}} where the command names it"
            )
        table = Data(paths=(full.relative_to(tree).as_posix(),))
    return Run(
        name=_name(command),
        command=argv,
        budget=_BUDGET,
        timeout=_TIMEOUT,
        outputs=Outputs(files=(EVERYTHING,)),
        data=table,
    )


def renamed(run: Run, name: str) -> Run:
    """Return the run under another name. Raises `UnusableInput` if that is none for a run."""
    try:
        return Run.model_validate({**run.model_dump(), "name": name})
    except ValidationError:
        raise UnusableInput(f"{name} is no name of a run: use letters, digits, -, _ and .") from None


def write_run_file(run: Run, root: Path) -> Path:
    """Write the file of a run to the folder of run files. Raises `UnusableInput` if it is there."""
    path = run_path(run.name, root)
    lines = [
        f"command = {json.dumps(list(run.command), ensure_ascii=False)}",
        f"seed = {run.seed}",
        "# Seconds that it should take, and after which it is stopped.",
        f"budget = {run.budget:g}",
        f"timeout = {run.timeout:g}",
        "",
        "# Everything that it writes in the repository; each run has a copy of it.",
        "[outputs]",
        f"files = {json.dumps(list(run.outputs.files))}",
    ]
    if run.data is not None:
        lines += ["", "# Read by the program, and not kept by git.", "[data]"]
        lines += [f"paths = {json.dumps(list(run.data.paths), ensure_ascii=False)}"] if run.data.paths else []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    except FileExistsError:
        raise UnusableInput(f"{path} exists already; name another run, or edit that file") from None
    except OSError as error:
        raise UnusableInput(f"can't write {path}: {error.strerror}") from None
    return path


def _literal(part: str) -> str:
    """Return an argument in the spelling of run files, where braces around other words are doubled."""
    return re.sub(r"\{([A-Za-z_]\w*)\}", lambda m: m[0] if m[1] in _PLACES else f"{{{m[0]}}}", part)


def _name(command: Sequence[str]) -> str:
    """Return a name for the run: that of the script, or of the program."""
    scripts = [part for part in command if part.endswith(".py")]
    modules = [after for before, after in pairwise(command) if before == "-m"]
    word = Path(scripts[0]).stem if scripts else modules[0] if modules else Path(command[0]).name
    return re.sub(r"[^A-Za-z0-9_.-]", "-", word).lstrip("_.-") or "program"
