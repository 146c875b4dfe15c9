"""One run in a fresh process: its command line, its environment, its end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from esper_harness.report.plain import many
from golden.record.exits import Rank, first, ranks, why
from golden.record.live import Program, count_steps, registered
from golden.record.run import Profile, Run
from golden.simulated.child import simulated
from golden.simulated.child import variables as simulating
from golden.trace.errors import RunFailed, UnusableInput

_THREAD_COUNTS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_ALWAYS: dict[str, str | None] = {
    "OMP_DYNAMIC": "FALSE",
    "MKL_DYNAMIC": "FALSE",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    # The date that matplotlib writes into a PDF: that of 1980, since archives have no earlier one.
    "SOURCE_DATE_EPOCH": "315532800",
    # Unbuffered, the text and the end of a line are two writes, between which another thread prints.
    "PYTHONUNBUFFERED": None,
}
# Each of the three was measured to matter: they pin ATen, oneDNN and MKL to one instruction set.
_PORTABLE = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "COMPATIBLE",
}
_INJECT = Path(__file__).resolve().parents[1] / "inject"
_INSTALLS = ("pyproject.toml", "setup.cfg", "setup.py")


def command_line(run: Run, *, root: Path, out: Path, data: Path | None) -> list[str]:
    """Return the argv of a run, placeholders replaced, `python` being this interpreter."""
    places = {
        "out": str(out),
        "seed": str(run.seed),
        "device": "cuda" if simulated(run.device) else run.device,
        "root": str(root),
    }
    if data is not None:
        places["data"] = str(data.resolve())
    argv = [_filled(part, places, run) for part in run.command]
    for key, value in run.args.items():
        argv += _option(key, _filled(value, places, run))
    if argv[0] in ("python", "python3"):
        _check_script(run, argv, root)
        argv[0] = sys.executable
    return argv + _data_option(run, data)


def _check_script(run: Run, argv: list[str], root: Path) -> None:
    script = next((part for part in argv[1:] if part in ("-m", "-c") or not part.startswith("-")), None)
    place = root / run.folder
    if not place.is_dir():
        raise UnusableInput(f"run {run.name}: no folder {run.folder} in the repository")
    if script is not None and script.endswith(".py") and not (place / script).is_file():
        where = "in the repository; check its name, and that git doesn't ignore it"
        raise UnusableInput(f"run {run.name}: no script {Path(run.folder, script)} {where}")


def _option(key: str, value: Any) -> list[str]:
    flag = f"--{key.replace('_', '-')}"
    if value is True:
        return [flag]
    if value is False:
        return []
    if isinstance(value, list):
        return [flag, *map(str, value)]
    return [flag, str(value)]


def _data_option(run: Run, data: Path | None) -> list[str]:
    if data is None:
        return []
    if run.data is None:
        raise UnusableInput(f"run {run.name} has no [data] table, so it can't take a data folder")
    if not data.is_dir():
        raise UnusableInput(f"run {run.name}: data folder {data} does not exist")
    return [] if run.data.option is None else [run.data.option, str(data.resolve())]


_PLACE = re.compile(r"\{\{(\w+)\}\}|\{([A-Za-z_]\w*)\}")


def _filled(value: Any, places: Mapping[str, str], run: Run) -> Any:
    """Fill in the placeholders of a value of a run file. Raises `UnusableInput` for an unknown one."""
    if isinstance(value, dict):
        return {key: _filled(item, places, run) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, places, run) for item in value]
    if not isinstance(value, str):
        return value

    def put(match: re.Match[str]) -> str:
        text, name = match.groups()
        if text:
            return f"{{{text}}}"
        if name in places:
            return places[name]
        if name == "data":
            raise UnusableInput(
                f"run {run.name}: {value!r} needs a data folder: give --data DIR, or name the environment "
                "variable that has it in [data] variable"
            )
        known = ", ".join(f"{{{place}}}" for place in places)
        raise UnusableInput(
            f"run {run.name}: no placeholder {{{name}}} in {value!r} (there: {known}); write {{{{{name}}}}} "
            "for the text itself"
        )

    return _PLACE.sub(put, value)


def profile_variables(profile: Profile, *, seed: int) -> dict[str, str | None]:
    """Return environment variables of a profile; None means that a variable must not be set."""
    variables = {**_ALWAYS, "PYTHONHASHSEED": str(seed % 2**32)}
    variables.update(dict.fromkeys(_THREAD_COUNTS, "1"))
    variables.update(_PORTABLE if profile == "portable" else dict.fromkeys(_PORTABLE))
    return variables


def environment(run: Run, *, root: Path, observe: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment variables of the process: determinism settings, module path, observer."""
    variables = dict(os.environ)
    for name, value in profile_variables(run.profile, seed=run.seed).items():
        if value is None:
            variables.pop(name, None)
        else:
            variables[name] = value
    if run.deterministic != "off":
        variables["TORCHINDUCTOR_DETERMINISTIC"] = "1"
    variables.update(run.environment)
    # What the run names is put behind the observer's folder, never in its place; relative to its tree.
    named = [p for p in variables.get("PYTHONPATH", "").split(os.pathsep) if p]
    if "PYTHONPATH" in run.environment:
        named = [str(root / entry) for entry in named]
    # What can be installed may be imported from its folder `src`: then the tree's own must be found first.
    own = [root, *([root / "src"] if any((root / name).is_file() for name in _INSTALLS) else [])]
    variables["PYTHONPATH"] = os.pathsep.join([str(_INJECT), *(str(each.resolve()) for each in own), *named])
    variables["GOLDEN_OBSERVE"] = json.dumps(observe)
    if count := simulated(run.device):
        variables |= simulating(Path(observe["out"]), count)
    return variables


def execute(
    run: Run,
    argv: list[str],
    *,
    root: Path,
    variables: Mapping[str, str],
    folder: Path,
    observed: bool = True,
) -> None:
    """Run to the end; raise `RunFailed` or `UnusableInput` with one line if it doesn't get there.

    ``folder`` takes the record of the run with what it prints. How far it came is known if it is
    ``observed``.
    """
    with (folder / "stdout.txt").open("wb") as stdout, (folder / "stderr.txt").open("wb") as stderr:
        try:
            process = subprocess.Popen(
                argv,
                cwd=root / run.folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError as error:
            reason = f"{error.strerror}; check its name, and PATH"
            raise UnusableInput(f"run {run.name}: can't start {argv[0]}: {reason}") from None
        try:
            with registered(process, Program(run.name, folder, run.budget)):
                status = process.wait(timeout=run.timeout)
        except subprocess.TimeoutExpired:
            raise RunFailed(
                f"run {run.name}: not done after {run.timeout:g} s, stopped{_reached(folder, observed)}; "
                "raise `timeout` in its run file if it needs more"
            ) from None
        finally:
            _kill(process, folder)
    if status == 0:
        return
    last = why(folder, f"{os.uname().nodename}-{process.pid}", root)
    missing = re.match(r"^(\S*python[\d.]*: )?[Nn]o module named (.*)$", last)
    if missing and status == 1 and count_steps(folder) == 0:
        raise UnusableInput(f"run {run.name}: {last}")
    if status < 0:
        raise RunFailed(
            f"run {run.name}: killed by {signal.Signals(-status).name}{_reached(folder, observed)}"
        )
    if not observed:
        raise RunFailed(f"run {run.name}: exit status {status}: {last}")
    known, ended = _ranks(folder)
    if ended is not None:
        last = _said(ended, known, root) or last
    raise RunFailed(f"run {run.name}: exit status {status} {_how_far(folder, known, ended)}: {last}")


def _kill(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Kill the process with all that it started; launchers give each worker a session of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    mark = str(folder).encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        # Every process of a run carries the folder of its record in its environment.
        with contextlib.suppress(OSError):
            if mark in path.read_bytes():
                os.kill(int(path.parent.name), signal.SIGKILL)


def _reached(folder: Path, observed: bool) -> str:
    """Say how far a stopped run came, where that is known."""
    return f" {_how_far(folder, *_ranks(folder))}" if observed else ""


def _ranks(folder: Path) -> tuple[list[Rank], Rank | None]:
    """Return the ranks of a run, and of several the one that ended first."""
    known = ranks(folder)
    return known, first(known) if len(known) > 1 else None


def _how_far(folder: Path, known: Sequence[Rank], ended: Rank | None) -> str:
    """Say how far every rank came, and which one ended first."""
    if len(known) > 1 and any(rank.steps for rank in known):
        mark = {ended.number: " (which ended first)"} if ended is not None else {}
        return "after " + ", ".join(
            f"{many(rank.steps, 'optimizer step')} of rank {rank.number}{mark.get(rank.number, '')}"
            for rank in known
        )
    count = count_steps(folder)
    return f"after {many(count, 'optimizer step')}" if count else "before the first optimizer step"


def _said(ended: Rank, known: Sequence[Rank], root: Path) -> str:
    """Say why it failed, by the rank that ended first: the others only say that it is gone."""
    if ended.end.error:
        return f"rank {ended.number}: {ended.end.text(root)}"
    other = next((f"then rank {rank.number}: {rank.end.error}" for rank in known if rank.end.error), "")
    how = "without a word (was it killed?)" if ended.end.at is None else "without an error"
    # One that says nothing may have told it to who started it.
    return f"rank {ended.number} ended {how}; {other}" if other else ""
