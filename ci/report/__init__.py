"""Outcomes of the gate as a table, a Markdown summary, JUnit XML and SARIF."""

from ci.report.junit import as_junit
from ci.report.sarif import as_sarif
from ci.report.summary import as_markdown
from ci.report.table import as_table
from ci.report.told import Told

__all__ = ["Told", "as_junit", "as_markdown", "as_sarif", "as_table"]
