"""The preflight report of a file.

Question: what do helpers capture, which tests patch what they read, what can be lifted or moved?
Imports program, values, rewrites and plans; no other command.
"""

from codemods.audit.cli import main

__all__ = ["main"]
