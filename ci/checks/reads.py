"""Host reads that a run was seen to make in per-env loops, and that the static checker did not report."""

from __future__ import annotations

from ci.checks.check import Context
from ci.verdicts import CouldNotRun, Failed, Passed, Place, Verdict
from codemods.hotpath.check import check
from codemods.hotpath.config import read_config
from codemods.hotpath.crosscheck import Site, crosscheck
from codemods.program import SourceError
from golden.record import find_run
from golden.trace.reads import by_site


def reads(context: Context, name: str) -> Verdict:
    """Ask of every read of one run whether the checker knows it."""
    paths = context.config.hotpath.paths if context.config.hotpath else (".",)
    run = find_run(name, context.root)
    if not run.observe.syncs:
        return CouldNotRun(f"run {name} doesn't count host reads ([observe] syncs = false)")
    trace = context.recordings(run).trace()
    sites = [Site(f.site.file, f.site.line, f.site.read, f.count) for f in by_site(trace)]
    try:
        report = check([context.root / path for path in paths], read_config(context.root), root=context.root)
    except SourceError as error:
        return CouldNotRun(str(error))
    found = crosscheck(report, sites)
    places = tuple(
        Place(f"{item.site.read} seen {item.site.count} times {item.why}", item.site.path, item.site.line)
        for item in found
        if item.verdict == "missed"
    )
    if places:
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        first = places[0]
        return Failed(f"not reported: {first.path}:{first.line}: {first.message}{more}", places)
    known = sum(item.verdict in ("reported", "allowed") for item in found)
    return Passed(f"{len(found)} places read the device, {known} of them in per-env loops, all reported")
