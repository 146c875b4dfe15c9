"""The action and the pipelines: valid by published schemas, safe for forks, and every script in them runs."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ci.stranger import change
from tests.trees import commit, git

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "ci" / "action.yml"
WORKFLOW = ROOT / ".github" / "workflows" / "gate.yml"
SUITE = ROOT / ".github" / "workflows" / "golden-suite.yml"
GITLAB = ROOT / "ci" / "gitlab-ci.yml"


def load(path: Path) -> dict[str, Any]:
    # YAML 1.1 reads the key `on` as a truth value.
    text = re.sub(r"^on:", '"on":', path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def steps() -> Iterator[dict[str, Any]]:
    yield from load(ACTION)["runs"]["steps"]
    for path in (WORKFLOW, SUITE):
        for job in load(path)["jobs"].values():
            yield from job.get("steps", ())


def script(name: str) -> str:
    (found,) = {step["run"] for step in steps() if step.get("name") == name}
    return str(found)


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("github-actions", ACTION),
        ("github-workflows", WORKFLOW),
        ("github-workflows", SUITE),
        ("gitlab-ci", GITLAB),
    ],
    ids=["action", "gate", "suite", "gitlab"],
)
def test_valid_by_the_published_schema(schema: str, path: Path) -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")
    done = subprocess.run(
        [checker, "--builtin-schema", f"vendor.{schema}", path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_of_a_pull_request_reaches_a_shell_as_text() -> None:
    scripts = [step["run"] for step in steps() if "run" in step]
    assert len(scripts) >= 5
    assert not [text for text in scripts if "${{" in text]


def test_actions_of_others_are_pinned_by_commit() -> None:
    used = [step["uses"] for step in steps() if "uses" in step and not step["uses"].startswith("./")]
    assert used
    assert not [action for action in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action)]


def test_a_fork_gets_a_read_only_token_and_not_our_machines() -> None:
    workflow = load(WORKFLOW)
    assert workflow["permissions"] == {"contents": "read"}
    assert set(workflow["on"]) == {"pull_request", "push"}
    assert "secrets." not in WORKFLOW.read_text()
    suite = load(SUITE)
    assert suite["permissions"] == {"contents": "read"}
    # Who calls the one that has our machines says for whom.
    assert set(suite["on"]) == {"workflow_call"}
    assert "secrets." not in SUITE.read_text()
    for job in (*workflow["jobs"].values(), *suite["jobs"].values()):
        assert "permissions" not in job
        assert "self-hosted" not in job.get("runs-on", ())
        if "uses" in job:
            assert job["uses"] == f"./{SUITE.relative_to(ROOT)}"
            assert "head.repo.full_name == github.repository" in job["if"]
            assert "secrets" not in job
        for step in job.get("steps", ()):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


class Runner:
    """Runs a step's script as a forge would: bash, failing at the first error, in a folder."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self.folder = folder
        self.summary = scratch / "summary.md"
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ["PYTHONPATH"]]),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_PATH": str(scratch / "path"),
            "GITHUB_OUTPUT": str(scratch / "output"),
            "RUNNER_TEMP": str(scratch),
            "GITHUB_ACTION_PATH": str(ROOT / "ci"),
            # What installs is only resolved, what makes is only printed: both would change this environment.
            "PIP_DRY_RUN": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it the wrong way round: this builds with what is here
            "PIP_NO_DEPS": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "MAKEFLAGS": "n",
        }

    def __call__(self, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
        )


INPUTS = {
    "ACCEPT": "",
    "ONLY": "",
    "SKIP": "",
    "JOBS": "",
    "ROOT": ".",
    "REPORTS": "gate reports",
    "BASE": "",
    "INSTALL": "false",
}


@pytest.fixture(scope="module")
def clone(stranger: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shallow clone with one commit on top of a base that it does not have."""
    scratch = tmp_path_factory.mktemp("action")
    origin = Path(shutil.copytree(stranger, scratch / "origin"))
    change(origin, "app/train.py", "lr=0.1", "lr=0.2")
    commit(origin, "another rate")
    git(scratch, "clone", "-q", "--depth", "1", f"file://{origin}", "clone")
    return scratch / "clone"


def test_the_action_compares_with_a_base_that_it_fetches(clone: Path, tmp_path: Path) -> None:
    run = Runner(clone, tmp_path)
    origin = clone.parent / "origin"
    base = subprocess.run(
        ["git", "rev-parse", "HEAD~1"], cwd=origin, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert run(script("Fetch the base"), **INPUTS | {"BASE": base}).returncode == 0
    done = run(script("Run the gate"), **INPUTS | {"BASE": base, "ONLY": "golden\ncontracts\n", "JOBS": "2"})
    assert done.returncode == 1, done.stderr
    assert "import contracts  passed" in done.stdout
    assert re.search(r"golden fit +failed", done.stdout)
    assert "# gate failed" in run.summary.read_text()
    assert {"gate.md", "gate.sarif", "gate.xml"} <= {path.name for path in (clone / "gate reports").iterdir()}


def test_a_hostile_name_is_data(clone: Path, tmp_path: Path) -> None:
    run = Runner(clone, tmp_path)
    for hostile in ("$(touch owned)", "--upload-pack=touch owned", "'; touch owned; '"):
        assert run(script("Fetch the base"), **INPUTS | {"BASE": hostile}).returncode != 0
        assert run(script("Run the gate"), **INPUTS | {"BASE": hostile, "ONLY": hostile}).returncode != 0
    assert not (clone / "owned").exists()


def test_the_other_scripts_run(clone: Path, tmp_path: Path) -> None:
    own, foreign = Runner(ROOT, tmp_path), Runner(clone, tmp_path)
    tried = ["Fetch the base", "Run the gate", "Install the gate", "Link it"]
    assert foreign(script("Link it"), URL="https://example.org/1").returncode == 0
    assert "(https://example.org/1)" in foreign.summary.read_text()
    (ours,) = (job["with"] for job in load(WORKFLOW)["jobs"].values() if "with" in job)
    for name in ("Look at what is installed", "Install", "Set up"):
        done = own(script(name), PACKAGES=ours["install"])
        assert done.returncode == 0, (name, done.stderr)
        tried.append(name)
    assert re.fullmatch(r"key=[0-9a-f]{32}\n", (tmp_path / "output").read_text())
    assert (tmp_path / "path").read_text() == f"{ROOT}/.venv/bin\n"
    tried += ["Count the parts", "Run one part of the golden suite", "Put the parts together"]
    assert sorted(tried) == sorted({step["name"] for step in steps() if "run" in step})


def test_a_suite_over_two_machines(clone: Path, tmp_path: Path) -> None:
    machine = Runner(clone, tmp_path)
    assert machine(script("Count the parts"), SHARDS="2").returncode == 0
    _, _, shards = (tmp_path / "output").read_text().partition("shards=")
    assert json.loads(shards) == ["1/2", "2/2"]
    for done, shard in enumerate(json.loads(shards)):
        ran = machine(script("Run one part of the golden suite"), SHARD=shard, BASE="HEAD", DEVICE="cpu")
        assert ran.returncode == 0, ran.stderr
        merged = machine(script("Put the parts together"))
        assert merged.returncode == (3, 0)[done], merged.stdout + merged.stderr
        assert ("shard 2 of 2 left no result" in merged.stderr) == (done == 0)
        assert ("identical: fit, base (HEAD) and head (working tree)" in ran.stdout) == (done == 0)
    assert "golden" in machine.summary.read_text()
