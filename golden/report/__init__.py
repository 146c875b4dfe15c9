"""Comparisons for people."""

from golden.report.page import html_page, junit, markdown
from golden.report.text import render
from golden.report.verdicts import render_localized, render_verdict

__all__ = ["html_page", "junit", "markdown", "render", "render_localized", "render_verdict"]
