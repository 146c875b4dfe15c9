"""A review as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from codemods.review.accept import Item, items
from codemods.review.report import Review

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "PROJECTROOT"
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
    """One run with everything that is left to read."""
    rules = [
        {"id": kind.replace(" ", "-"), "shortDescription": {"text": text}} for kind, text in _RULES.items()
    ]
    driver = {"name": "review", "informationUri": "https://pypi.org/project/esper-harness/", "rules": rules}
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "the root of the repository"}}},
        "results": [_result(item) for item in items(review)],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(item: Item) -> dict[str, Any]:
    where = f" in {item.unit}" if item.unit else ""
    return {
        "ruleId": item.kind.replace(" ", "-"),
        "ruleIndex": list(_RULES).index(item.kind),
        "level": "warning",
        "message": {"text": f"{_RULES[item.kind]}{where}: {item.text}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(item.path), "uriBaseId": _ROOT},
                    "region": {"startLine": item.first, "endLine": item.last},
                }
            }
        ],
        "partialFingerprints": {"review/v1": item.id},
    }
