"""The renderings of one report: exact, and the same every time."""

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from codemods.audit import main


def rendered(root: Path, *options: str) -> str:
    out = root / "out"
    main([str(root / "src/pkg/loop.py"), "--output", str(out), *options])
    return out.read_text()


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_everything_searched(output_format: str, specimen: Path, snapshot: SnapshotAssertion) -> None:
    options = ["--tests", str(specimen / "tests"), "--output-format", output_format]
    first = rendered(specimen, *options)
    assert first == snapshot
    assert rendered(specimen, *options) == first


def test_json_has_the_same_keys_whether_tests_are_searched_or_not(specimen: Path) -> None:
    options = ["--tests", str(specimen / "tests")]
    all_, alone = (json.loads(rendered(specimen, "--output-format", "json", *o)) for o in (options, []))
    assert all_["version"] == 7
    assert all_.keys() == alone.keys()
    assert [f.keys() for f in all_["functions"]] == [f.keys() for f in alone["functions"]]
