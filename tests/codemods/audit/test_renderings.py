"""The renderings of one report: exact, the same every time, and the JSON as its published schema says."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from codemods.audit import main
from codemods.audit.json_report import json_schema
from codemods.audit.markdown import code, table


def rendered(root: Path, *options: str) -> str:
    out = root / "out"
    main([str(root / "src/pkg/loop.py"), "--output", str(out), *options])
    return out.read_text()


@pytest.fixture
def schema() -> dict[str, Any]:
    published = json.loads((files("codemods.audit") / "audit.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(published)
    return published


@pytest.mark.parametrize("output_format", ["text", "markdown", "json"])
def test_everything_searched(output_format: str, specimen: Path, snapshot: SnapshotAssertion) -> None:
    options = ["--root", str(specimen), "--tests", str(specimen / "tests"), "--output-format", output_format]
    first = rendered(specimen, *options)
    assert first == snapshot
    assert rendered(specimen, *options) == first


@pytest.mark.parametrize("output_format", ["text", "markdown"])
def test_the_file_alone(output_format: str, specimen: Path, snapshot: SnapshotAssertion) -> None:
    assert rendered(specimen, "--statistics", "--output-format", output_format) == snapshot


@pytest.mark.parametrize("searched", [True, False])
def test_json_is_as_published(searched: bool, specimen: Path, schema: dict[str, Any]) -> None:
    options = ["--root", str(specimen), "--tests", str(specimen / "tests")] if searched else []
    report = json.loads(rendered(specimen, "--output-format", "json", *options))
    jsonschema.validate(report, schema, cls=jsonschema.Draft202012Validator)
    report["surprise"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, schema, cls=jsonschema.Draft202012Validator)


def test_the_published_schema_is_that_of_the_types(schema: dict[str, Any]) -> None:
    assert schema == json_schema(), (
        "run: python -m codemods.audit.json_report > codemods/audit/audit.schema.json"
    )


def test_cells_that_would_break_a_table() -> None:
    (block,) = table(("a", "b"), [("x | y", "two\nlines")])
    assert block.split("\n")[2] == "| x \\| y | two lines |"
    assert table(("a",), []) == []
    assert code("a`b") == "`` a`b ``"
