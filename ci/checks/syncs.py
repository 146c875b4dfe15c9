"""Syncs, races and peak memory of a golden run on a simulated GPU, at the base and here."""

from __future__ import annotations

from pathlib import Path

from ci.checks.check import Context
from ci.checks.places import folder_of
from ci.checks.sides import runs_of
from ci.verdicts import CouldNotRun, Failed, Passed, Place, Verdict
from golden.record import Run, record_run
from golden.simulated.child import simulated
from golden.simulated.result import Result, compare, read_result
from golden.simulated.text import worse


def syncs(context: Context, name: str) -> Verdict:
    """Run both versions on a simulated GPU, and compare; a line that only moved is the same."""
    base = context.base
    if base is None:
        return CouldNotRun("there is no base to compare with; give one with --base REF")
    pair = runs_of(context, base, name)
    base.share(pair.data)
    before = _on_devices(context, pair.base, base.runnable, "base")
    after = _on_devices(context, pair.head, context.root, "head")
    if before is None or after is None:
        return CouldNotRun(f"run {name} has no tensor on the device, so it has no syncs to compare")
    found = worse(compare(before, after))
    if found:
        more = f"; and {len(found) - 1} more" if len(found) > 1 else ""
        return Failed(": ".join(found[0]) + more, tuple(_place(*one) for one in found))
    return Passed(
        f"{after.total} syncs in {after.steps} steps, {before.total} in {before.steps} at {base.ref}"
    )


def _on_devices(context: Context, run: Run, root: Path, side: str) -> Result | None:
    run = run if simulated(run.device) else run.on("simulated")
    out = context.scratch / "syncs" / folder_of(run.name) / side
    return read_result(record_run(run, root=root, out=out, data=run.data_folder(), label=side).folder)


def _place(place: str, message: str) -> Place:
    path, _, line = place.rpartition(":")
    return Place(message, path, int(line)) if line.isdigit() else Place(message, place)
