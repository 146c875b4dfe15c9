"""Comparisons for people."""

from golden.report.text import render
from golden.report.verdicts import render_verdict

__all__ = ["render", "render_verdict"]
