"""Comparisons for people."""

from golden.report.text import render

__all__ = ["render"]
