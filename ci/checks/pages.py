"""Pages that are kept beside what shows a failure, where what draws them is installed."""

from __future__ import annotations

from collections.abc import Sequence

from golden.extras import missing_extra
from golden.reach.evidence import Evidence
from golden.report.build import RunReport, Told


def page(name: str, reports: Sequence[RunReport | Told], reached: Evidence) -> tuple[str, str]:
    """A page of some runs, with what of the change they executed; or nothing, and what to install."""
    try:
        from golden.report.page import render_page
    except ModuleNotFoundError as error:
        why = missing_extra(error, name, "report")
        if why is None:
            raise
        return "", why
    return render_page(reports, reached), ""
