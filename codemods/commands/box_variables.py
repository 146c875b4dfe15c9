"""Variables that helpers rebind become attributes of one object."""

from __future__ import annotations

from codemods.commands.command import HelperCommand


class BoxVariables(HelperCommand):
    """Keep variables that helpers share and rebind in an object, and lift the helpers."""

    DESCRIPTION = "Keep variables that helpers share and rebind in an object, and lift the helpers."
    rewritten = "box"
