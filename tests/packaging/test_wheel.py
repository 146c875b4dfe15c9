"""What strangers install: it hides no package of theirs, has nothing of ours alone, and names its extras."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, Environment, bare, build, install, metadata, show

pytestmark = pytest.mark.slow

HELPER = """\
def train(rate):
    def scaled(value):
        return value * rate

    return scaled(2)
"""
RUN = """\
command = ["python", "train.py", "{out}"]
budget = 1
profile = "exact"

[events]
files = "events.jsonl"
"""
TRAIN = """\
import json, sys
import torch

weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
with open(sys.argv[1] + "/events.jsonl", "w") as log:
    for step in range(2):
        optimizer.zero_grad()
        loss = (weight * torch.randn(3)).sum()
        loss.backward()
        optimizer.step()
        log.write(json.dumps({"type": "step", "step": step}) + "\\n")
"""


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def tops(wheel: Path) -> set[str]:
    return {name.partition("/")[0] for name in names(wheel)}


def test_no_name_that_others_use_is_taken(wheel: Path, tmp_path: Path) -> None:
    assert tops(wheel) == {"esper_harness", "esper_harness.pth", "esper_harness-0.1.0.dist-info"}
    assert tops(build(ROOT / "src", tmp_path)) == {"esper", "esper_trainer-0.1.0.dist-info"}


def test_a_folder_that_is_no_environment(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(target),
        str(wheel),
    ]
    subprocess.run(install, check=True)
    (tmp_path / "helper.py").write_text(HELPER)
    done = subprocess.run(
        [sys.executable, str(target / "bin" / "codemods"), "extract", "helper.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(target), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "scaled" in done.stdout, done.stderr
    assert "lifted" in done.stdout


def test_what_serves_this_repository_alone_is_left_out(wheel: Path) -> None:
    own = ("monolith", "golden/runs", "golden/fixtures", "ci/demo", "ci/reference", "esper/")
    there = names(wheel)
    assert not [name for name in there if any(part in name for part in own)]
    assert not [name for name in there if "/plans/" in name and name.endswith(".toml")]
    # What is read at run time is in it.
    for needed in ("page.html.jinja", "page.css.jinja", "inject/sitecustomize.py"):
        assert [name for name in there if name.endswith(needed)], needed


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "golden" / "runs").mkdir(parents=True)
    (folder / "helpers.py").write_text(HELPER)
    (folder / "train.py").write_text(TRAIN)
    (folder / "golden" / "runs" / "train.toml").write_text(RUN)
    return folder


def test_the_base_runs_the_static_half_and_names_the_extra_of_the_rest(
    environment: Callable[[str], Environment], project: Path
) -> None:
    base = environment("")
    assert base.run("python", "-c", "import torch", cwd=project).returncode == 1
    done = base.run("codemods", "extract", "helpers.py", "--write", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert "def _scaled(value, *, rate)" in (project / "helpers.py").read_text()
    for command in (("audit", "helpers.py"), ("hotpath", "helpers.py", "--allow-no-loops")):
        done = base.run("codemods", *command, cwd=project)
        assert (done.returncode, done.stderr) == (0, "")
    for program, arguments, extra in (
        ("golden", ("list",), "golden"),
        ("golden-gate", ("run",), "gate"),
        ("golden-gate", ("init",), "gate"),
    ):
        done = base.run(program, *arguments, cwd=project)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert done.stderr.endswith(f"not installed: pip install 'esper-harness[{extra}]'\n")
    for program in ("codemods", "golden-gate"):
        assert base.run(program, "--version", cwd=project).stdout == f"{program} 0.1.0\n"


def test_the_base_works_at_its_floors(wheel: Path, project: Path, tmp_path: Path) -> None:
    """The oldest versions that the wheel accepts, from the package index."""
    venv.create(tmp_path / "floors", with_pip=False, symlinks=True)
    floors = Environment(tmp_path / "floors")
    wanted = [text.replace(">=", "==") for text in metadata(wheel) if "extra" not in text]
    assert sorted(text.partition("==")[0] for text in wanted) == ["click", "libcst", "pydantic", "rich"]
    pip = [sys.executable, "-m", "pip", "--python", str(floors.bin / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--disable-pip-version-check", *wanted], check=True, capture_output=True)
    install(floors, wheel)
    plan = 'version = 1\nsource = "helpers.py"\nfunction = "train"\nroot = "."\nrest = "rest.py"\n'
    (project / "plan.toml").write_text(plan + '[[move]]\nto = "scaling.py"\nnames = ["scaled"]\n')
    for words, status in {
        "--version": 0,
        "": 2,
        "extrct": 2,
        "extract helpers.py --no-such-option": 2,
        "extract helpers.py": 0,
        "extract helpers.py --output-format json": 0,
        "extract --explain value-use": 0,
        "extract --plan plan.toml --write": 0,
        "audit helpers.py": 0,
        "hotpath helpers.py --allow-no-loops": 0,
    }.items():
        done = floors.run("codemods", *words.split(), cwd=project)
        assert (done.returncode, "Traceback" in done.stderr) == (status, False), (words, done)
    done = floors.run("golden", "list", cwd=project)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_golden_without_the_report(environment: Callable[[str], Environment], project: Path) -> None:
    golden = environment("golden")
    done = golden.run("golden", "record", "train", "-o", "a", cwd=project)
    assert done.returncode == 0, done.stderr
    done = golden.run("golden", "report", "a/train", "a/train", "-o", "r.xml", cwd=project)
    assert (done.returncode, (project / "r.xml").exists()) == (0, True), done.stderr
    done = golden.run("golden", "report", "a/train", "a/train", "-o", "r.html", cwd=project)
    assert done.returncode == 0, done.stderr  # torch brings jinja2
    assert golden.run("python", "-m", "golden", "--version", cwd=project).stdout == "golden 0.1.0\n"


def test_all_of_it(environment: Callable[[str], Environment], project: Path) -> None:
    everything = environment("all")
    done = everything.run("golden", "record", "train", "--update", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    options = ("-p", "golden.plugin", "-p", "no:cacheprovider", "golden")
    done = everything.run("python", "-m", "pytest", *options, cwd=project)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    (project / "pyproject.toml").write_text('[tool.gate]\nruns = ["train"]\n')
    done = everything.run("golden-gate", "run", "-o", "kept", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr


THEIRS = {
    "esper": "def own():\n    return 'their esper'\n",
    "ci": "def own():\n    return 'their ci'\n",
    "golden": "def own():\n    return 'their golden'\n",
}
SHARDS = """\
def pytest_addoption(parser):
    parser.addoption("--shard", type=int, default=0)
    parser.addoption("--snapshot-update", action="store_true")
"""
THEIR_TEST = """\
import os

import ci.steps, codemods, esper, golden


def test_theirs(request):
    assert [esper.own(), ci.own(), golden.own()] == ["their esper", "their ci", "their golden"]
    assert ci.steps.__file__.startswith(os.getcwd()) and codemods.mine
    assert request.config.getoption("--shard") == 3
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1,2,3"
"""


def test_nothing_of_others_changes(wheel: Path, project: Path, tmp_path: Path) -> None:
    """Packages with our names, installed and in the repository, and another plugin with our option."""
    theirs = bare(tmp_path / "theirs", metadata(wheel), "gate")
    show({"pytest", "pytest-xdist", "iniconfig", "pluggy", "execnet", "packaging", "pygments"}, theirs.site)
    for name, text in THEIRS.items():
        (theirs.site / name).mkdir()
        (theirs.site / name / "__init__.py").write_text(text)
    (theirs.site / "their_shards.py").write_text(SHARDS)
    about = theirs.site / "their_shards-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-shards\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[pytest11]\ntheir_shards = their_shards\n")
    # A package `ci` of the repository, spread over two folders, and a folder `codemods`.
    (theirs.site / "ci" / "__init__.py").write_text(
        THEIRS["ci"] + "import pkgutil\n__path__ = pkgutil.extend_path(__path__, __name__)\n"
    )
    (project / "ci").mkdir()
    (project / "ci" / "steps.py").write_text("")
    (project / "codemods.py").write_text("mine = True\n")
    (project / "test_theirs.py").write_text(THEIR_TEST)
    before = {p: p.read_bytes() for p in theirs.site.rglob("*") if p.is_file() and not p.is_symlink()}

    def judged() -> tuple[int, str]:
        options = ("-p", "no:cacheprovider", "-q", "-n", "1", "--shard", "3")
        done = theirs.run(
            "python", "-B", "-m", "pytest", *options, cwd=project, CUDA_VISIBLE_DEVICES="0,1,2,3"
        )
        return done.returncode, done.stdout.rpartition(" in ")[0] + done.stderr

    alone = judged()
    assert alone[0] == 0, alone[1]
    install(theirs, wheel)
    assert judged() == alone
    assert {path: path.read_bytes() for path in before} == before

    # And ours run there, whatever is in the way.
    done = theirs.run("golden", "record", "train", "-o", "out", cwd=project, PYTHONPATH=".")
    assert done.returncode == 0, done.stderr
    for variables in ({}, {"PYTHONPATH": "."}):
        for program in ("codemods", "golden", "golden-gate"):
            assert theirs.run(program, "--version", cwd=project, **variables).returncode == 0
