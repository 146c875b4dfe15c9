"""A run's events as one page: read into series, drawn, put into a template."""

from esper.nissa.report.page import render_page as render_page
from esper.nissa.report.run import RunData as RunData
from esper.nissa.report.run import collect as collect
