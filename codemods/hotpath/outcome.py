"""Outcomes of calls outside the program, by kinds alone."""

from __future__ import annotations

from typing import Literal, NamedTuple

from codemods.hotpath.kinds import Kind

After = Literal["same", "queued", "idle", "drained"]
"""The device after a call: as before it; with work queued; idle; idle if it was a call outside of loops."""


class Outcome(NamedTuple):
    """One call.

    Attributes:
        kind: of its result.
        stall: the code of the stall that it is, if any.
        after: how it leaves the device.
        grown: what the container that it was called on holds now, where that has changed.
    """

    kind: Kind
    stall: str | None = None
    after: After = "same"
    grown: Kind | None = None
