"""The preflight report: what a function's helpers capture, who calls and patches it, what stalls in it."""

from codemods.audit.cli import main

__all__ = ["main"]
