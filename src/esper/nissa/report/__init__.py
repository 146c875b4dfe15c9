"""A run's events as one page: read into series, drawn, put into a template."""

from esper.nissa.report.page import render_page
from esper.nissa.run import RunData, collect

__all__ = ["RunData", "collect", "render_page"]
