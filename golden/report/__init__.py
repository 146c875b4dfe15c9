"""Comparisons for people."""

from golden.report.text import render
from golden.report.verdicts import closely, render_localized, render_verdict

__all__ = ["closely", "render", "render_localized", "render_verdict"]
