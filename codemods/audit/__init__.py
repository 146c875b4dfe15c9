"""The preflight report of a file.

Question: which helpers capture, change and call what, who calls and patches their function, what waits?
Imports program, values, rewrites, plans and device; no other command.
"""

from codemods.audit.cli import main

__all__ = ["main"]
