"""``golden-gate init``: a first configuration for a repository that has none."""

from ci.init.command import main

__all__ = ["main"]
