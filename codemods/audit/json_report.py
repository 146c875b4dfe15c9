"""The report as JSON, and the schema that its readers can rely on.

``python -m codemods.audit.json_report`` prints the schema, kept beside this file as ``audit.schema.json``.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from codemods.audit.report import Report


def render_json(report: Report) -> str:
    """One object, its keys in the order of the schema."""
    return json.dumps(dataclasses.asdict(report), indent=2, ensure_ascii=False) + "\n"


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the report, from its types and their documentation."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(Report).json_schema(mode="serialization")
    for part in (schema, *schema["$defs"].values()):
        _close(part)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://esper-harness.invalid/audit.schema.json",
        **schema,
    }


def _close(part: dict[str, Any]) -> None:
    """Every key is always there, and there are no others."""
    part["required"] = list(part["properties"])
    part["additionalProperties"] = False


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))
