"""SARIF 2.1.0: its shape by the standard, and what is said of new, known, allowed and gone findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.codemods.hotpath.conftest import Project

Capture = pytest.CaptureFixture[str]
SCHEMA = json.loads(
    Path(__file__).parents[2].joinpath("esper_harness/sarif-subset.schema.json").read_text("utf-8")
)
TRAIN = """
def read(value):
    return value.item()


def run(envs, losses):
    for env in envs:
        read(losses[env.index])
        print(losses.cpu())  # hotpath: allow[HP002] shown once
"""


def sarif(project: Project, capsys: Capture, *arguments: str) -> list[dict[str, Any]]:
    project.run("--output-format", "sarif", *arguments)
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, SCHEMA)
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    results: list[dict[str, Any]] = run["results"]
    return results


def test_way_from_the_loop(project: Project, capsys: Capture) -> None:
    project.write(train=TRAIN)
    item, cpu = sorted(sarif(project, capsys), key=lambda result: result["ruleId"])
    (flow,) = item["codeFlows"]
    stops = flow["threadFlows"][0]["locations"]
    lines = [stop["location"]["physicalLocation"]["region"]["startLine"] for stop in stops]
    assert lines == [6, 7, 2]
    assert [stop["nestingLevel"] for stop in stops] == [0, 1, 2]
    assert "baselineState" not in item
    assert cpu["suppressions"] == [{"kind": "inSource", "justification": "shown once"}]


def test_states_against_a_commit(repository: Project, capsys: Capture) -> None:
    text = (repository.root / "train.py").read_text()
    changed = text.replace("losses[env_idx].item()", "losses.cpu()").replace("loss.detach()", "loss.tolist()")
    (repository.root / "train.py").write_text(changed)
    states = {
        (result["ruleId"], result["baselineState"]) for result in sarif(repository, capsys, "--base", "main")
    }
    assert states == {("HP001", "absent"), ("HP002", "new"), ("HP003", "new")}


def test_accepted_by_a_baseline(project: Project, capsys: Capture) -> None:
    project.write(train=TRAIN)
    path = str(project.root / "b.toml")
    project.run("--baseline", path, "--update-baseline")
    capsys.readouterr()
    item = min(sarif(project, capsys, "--baseline", path), key=lambda result: result["ruleId"])
    assert item["baselineState"] == "unchanged"
    assert item["suppressions"] == [{"kind": "external", "justification": "accepted by --update-baseline"}]


def test_stale_entry(project: Project, capsys: Capture) -> None:
    project.write(train=TRAIN)
    path = project.root / "b.toml"
    project.run("--baseline", str(path), "--update-baseline")
    project.write(train="x = 1\n")
    capsys.readouterr()
    (stale,) = sarif(project, capsys, "--baseline", str(path))
    assert stale["ruleId"] == "HP902"


def test_fingerprints_of_equal_findings_differ(project: Project, capsys: Capture) -> None:
    project.write(train="def run(envs, x):\n    for env in envs:\n        x.item()\n        x.item()\n")
    first, second = (result["partialFingerprints"]["hotpath/v2"] for result in sarif(project, capsys))
    assert first.partition(":")[0] == second.partition(":")[0]
    assert first != second
