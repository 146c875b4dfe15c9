"""The writers of SARIF, JUnit, Markdown and JSON: valid, counted, and harmless whatever they are given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from esper_harness.report.findings import Case, Finding, Location, Rule, Suite, Suppression, Tool
from esper_harness.report.json import json_text
from esper_harness.report.junit import junit_text
from esper_harness.report.markdown import code, fenced, table
from esper_harness.report.sarif import sarif_text

SCHEMA = json.loads(Path(__file__).with_name("sarif-subset.schema.json").read_text("utf-8"))
TOOL = Tool(
    name="tool",
    version="1",
    rules=[
        Rule(id="A", text="a rule"),
        Rule(id="B", text="b", name="bee", why="since", help="don't", enabled=True),
    ],
)


def test_sarif_is_valid_with_everything_and_with_little() -> None:
    here, there = Location("a b/é.py", 3, 4, 1, 9), Location("m.py")
    findings = [
        Finding(rule="A", message="little", location=there, fingerprint=("t/v1", "1")),
        Finding(
            rule="B",
            message="much",
            location=here,
            fingerprint=("t/v1", "2"),
            level="warning",
            path=[(there, "calls f"), (here, "waits")],
            suppression=Suppression("external", "known"),
            state="unchanged",
        ),
    ]
    document = json.loads(sarif_text(TOOL, findings))
    jsonschema.validate(document, SCHEMA)
    (run,) = document["runs"]
    little, much = run["results"]
    assert [result["ruleIndex"] for result in (little, much)] == [0, 1]
    assert little["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}
    place = much["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b/%C3%A9.py"
    assert place["region"] == {"startLine": 3, "startColumn": 1, "endLine": 4, "endColumn": 9}
    assert "baselineState" not in little
    assert much["baselineState"] == "unchanged"
    assert run["invocations"] == [{"executionSuccessful": True}]


def test_sarif_without_findings_is_valid() -> None:
    jsonschema.validate(json.loads(sarif_text(TOOL, [])), SCHEMA)


def test_junit_counts_every_outcome_and_holds_any_text() -> None:
    cases = [
        Case(group="g", name="passes", seconds=0.5),
        Case(group="g", name="fails <&>", outcome="failure", message="\x1b[31m\0", lines=["a\x00", "b"]),
        Case(group="g", name="breaks", outcome="error", message="m", kind="K"),
        Case(group="g", name="waits", outcome="skipped"),
    ]
    root = ElementTree.fromstring(junit_text("all", [Suite("one", cases, 2.0), Suite("two", [])]))
    counts = {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    assert counts.items() <= root.attrib.items()
    assert {**counts, "time": "2.000"}.items() <= root[0].attrib.items()
    assert root[1].get("tests") == "0"
    failure = root.find("testsuite/testcase/failure")
    assert failure is not None
    assert (failure.get("message"), failure.text) == ("\\x1b[31m\\x00", "a\\x00\nb")
    assert [case.get("name") for case in root.iter("testcase")][1] == "fails <&>"


def test_markdown_shows_any_text_as_it_is() -> None:
    assert code("a|b") == "`a\\|b`"
    assert code("a`b") == "`` a`b ``"
    assert fenced(["```", "x\n"]) == ["````text", "```\nx\\x0a", "````"]
    assert list(table(("a", "n"), [("x", "1")], numbers=[1])) == ["| a | n |", "|---|---:|", "| x | 1 |"]


def test_json_has_dataclasses_as_objects_and_nothing_else_unknown() -> None:
    @dataclass(frozen=True, slots=True)
    class Pair:
        left: str
        right: tuple[int, ...]

    assert json.loads(json_text({"pairs": [Pair("é", (1,))]})) == {"pairs": [{"left": "é", "right": [1]}]}
    with pytest.raises(TypeError, match="object can't be written as JSON"):
        json_text(object())
