"""Settings of the gate that a change loosens."""

from __future__ import annotations

from ci.base import Base
from ci.changes import accepts, weakened
from ci.checks.check import Context
from ci.verdicts import CouldNotRun, Failed, Passed, Place, Verdict
from golden.trace.errors import UnusableInput


def changes(context: Context, base: Base) -> Verdict:
    """List what the base demands and this tree does not, but for what was accepted by name."""
    try:
        found = weakened(base.root, context.root)
    except UnusableInput as error:
        return CouldNotRun(str(error))
    if found is None:
        return Passed(f"{base.ref} has no [tool.gate]: nothing to weaken")
    names = {one.name for one in found}
    unmet = [known for known in context.accepted if not any(accepts([known], name) for name in names)]
    refused = [one for one in found if not context.wanted(one.name)]
    places = tuple(Place(f"{one.name} {one.what}", one.path) for one in refused)
    places += tuple(
        Place(f"--accept {name}: nothing of that name is weakened", "pyproject.toml") for name in unmet
    )
    if places:
        ways = " ".join(dict.fromkeys(f"--accept '{one.name}'" for one in refused))
        wayout = f"; if that is wanted: {ways}" if ways else ""
        return Failed("; ".join(place.message for place in places) + wayout, places)
    wanted = f", but for what was accepted: {', '.join(sorted(names))}" if names else ""
    return Passed(f"demands what {base.ref} demands{wanted}")
