"""Which run file says what is run, at the base and here."""

from __future__ import annotations

from dataclasses import dataclass

from ci.base import Base
from ci.checks.check import Context
from golden.record import Run, find_run
from golden.record.files import RUNS_FOLDER

_PROGRAM = ("command", "args", "environment", "folder")


@dataclass(frozen=True, slots=True)
class Pair:
    """The runs of both sides; ``data`` is needed by them and not kept by git."""

    base: Run
    head: Run
    data: tuple[str, ...] = ()


def runs_of(context: Context, base: Base, name: str) -> Pair:
    """The base's run for both, so that no change judges itself by a run of its own.

    A run that only this tree has is run on both. Where a change of the run was accepted, this tree's
    counts, and the base's says how its own program is called.
    """
    stem = name.partition(".")[0]
    if not (base.root / RUNS_FOLDER / f"{stem}.toml").is_file():
        run = find_run(name, context.root)
        return Pair(run, run, _data(run))
    before = find_run(name, base.root)
    if not context.wanted_any(f"run.{stem}"):
        # What is shared decides nothing, so a change may name what its base forgot.
        here = (context.root / RUNS_FOLDER / f"{stem}.toml").is_file()
        also = _data(find_run(name, context.root)) if here else ()
        return Pair(before, before, (*_data(before), *also))
    head = find_run(name, context.root)
    return Pair(head.model_copy(update={key: getattr(before, key) for key in _PROGRAM}), head, _data(head))


def _data(run: Run) -> tuple[str, ...]:
    return run.data.paths if run.data is not None else ()
