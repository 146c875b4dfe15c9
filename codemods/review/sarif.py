"""A review's residue as findings, for code scanning."""

from __future__ import annotations

from importlib.metadata import version

from codemods.review.accept import Item, items
from codemods.review.report import Review
from esper_harness.report.findings import Finding, Location, Rule, Tool
from esper_harness.report.sarif import sarif_text

_RULES = {
    "gone": "a statement of the base that does not stand in the head",
    "new": "a statement of the head that did not stand in the base",
    "name": "a name that means something else now",
    "aligned": "a definition whose statements stand elsewhere",
    "import": "a module that was not imported before",
    "dropped": "a module that no file of the change loads any more",
    "order": "runs in another order at import",
    "early": "a name that may be read before it is there",
    "lost": "a name that other files import and that is gone",
    "met": "a new name that other files get",
    "not judged": "a file that can't be compared",
}


def as_sarif(review: Review) -> str:
    """Write everything that is left to read."""
    rules = [Rule(id=kind.replace(" ", "-"), text=text) for kind, text in _RULES.items()]
    tool = Tool(name="review", version=version("esper-harness"), rules=rules)
    return sarif_text(tool, map(_finding, items(review)))


def _finding(item: Item) -> Finding:
    where = f" in {item.unit}" if item.unit else ""
    return Finding(
        rule=item.kind.replace(" ", "-"),
        message=f"{_RULES[item.kind]}{where}: {item.text}",
        location=Location(item.path, item.first, item.last),
        fingerprint=("review/v1", item.id),
        level="warning",
    )
