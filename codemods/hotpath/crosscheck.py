"""Reads that were seen at run time against what the checker said of their lines."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from codemods.hotpath.results import Report
from codemods.program.source import SourceError

Verdict = Literal["reported", "allowed", "missed", "outside"]


@dataclass(frozen=True, slots=True)
class Site:
    """A line at which a device-to-host read was seen: which one, and how often, where that is known."""

    path: str
    line: int
    read: str | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class SiteVerdict:
    """What the checker says of a site.

    Attributes:
        verdict: ``reported``; ``allowed`` by a comment; ``missed``: in a loop over environments, or in a
            function that runs inside one, and not reported; ``outside`` of all of them.
        why: which loop or function, for a missed one.
    """

    site: Site
    verdict: Verdict
    why: str = ""


def crosscheck(report: Report, sites: Iterable[Site]) -> list[SiteVerdict]:
    """Say of each site whether the checker reported, allowed or missed it."""
    reported = {
        (f.place.path, line) for f in report.findings for line in _span(f.place.line, f.place.end_line)
    }
    allowed = {
        (item.finding.place.path, line)
        for item in report.allowed
        for line in _span(item.finding.place.line, item.finding.place.end_line)
    }
    loops = defaultdict(list)
    for loop in report.loops:
        loops[loop.place.path].append(loop)
    reached = defaultdict(list)
    for path, first, last in report.reached:
        reached[path].append((first, last))
    found = []
    for site in sites:
        place = site.path, site.line
        around = [loop for loop in loops[site.path] if loop.place.line <= site.line <= loop.last_line]
        inside = [span for span in reached[site.path] if span[0] <= site.line <= span[1]]
        if place in reported:
            found.append(SiteVerdict(site, "reported"))
        elif place in allowed:
            found.append(SiteVerdict(site, "allowed"))
        elif around:
            loop = max(around, key=lambda item: item.place.line)
            found.append(SiteVerdict(site, "missed", f"in `{loop.header}`, line {loop.place.line}"))
        elif inside:
            why = f"in the function of line {max(inside)[0]}, which runs in such a loop"
            found.append(SiteVerdict(site, "missed", why))
        else:
            found.append(SiteVerdict(site, "outside"))
    return found


def _span(first: int, last: int) -> range:
    return range(first, last + 1)


def read_sites(path: Path) -> list[Site]:
    """Sites of a file of reads: ``{"version": 1, "sites": [{"file", "line", "read", "count", …}]}``.

    Raises:
        SourceError: if it can't be read, or is not of this form.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise SourceError(f"{path}: can't be read: {error.strerror}") from None
    except ValueError as error:
        raise SourceError(f"{path}: not valid JSON: {error}") from None
    if (
        not isinstance(document, dict)
        or document.get("version") != 1
        or not isinstance(document.get("sites"), list)
    ):
        raise SourceError(f'{path}:1: not a file of reads: expected {{"version": 1, "sites": [...]}}')
    found = []
    for index, site in enumerate(document["sites"]):
        try:
            found.append(Site(str(site["file"]), int(site["line"]), site.get("read"), site.get("count")))
        except (KeyError, TypeError, ValueError):
            raise SourceError(f"{path}:1: sites[{index}] has no file and line") from None
    return found
