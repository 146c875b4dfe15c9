"""Ways to switch a check off from a branch: what the branch does is named, each time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ci.changes import weakened
from tests.ci.stranger import Way, append, project, swap, write
from tests.trees import commit
from tests.trees import write as write_files


def plan(source: str, name: str) -> str:
    """A plan that moves one name."""
    return f'version = 1\nsource = "{source}"\nmove = [{{ to = "app/more.py", names = ["{name}"] }}]\n'


FILES = {
    "pyproject.toml": """\
[tool.gate]
contracts = true
plans = ["plans/*.toml"]
carried_out = ["plans/old/*.toml"]
runs = ["fit"]
counts = ["fit"]

[tool.gate.hotpath]
paths = ["app"]
baseline = "baseline.toml"

[tool.gate.evidence]
paths = ["app"]
accepted = "accepted.toml"

[[tool.gate.seams]]
file = "app/train.py"

[tool.gate.power]
runs = ["fit"]
at_least = 0.5

[tool.gate.tests]
command = ["python", "-m", "pytest", "-q", "tests"]

[tool.codemods.hotpath]
ignore = []

[tool.pytest.ini_options]
addopts = "-q"
markers = ["slow"]

[tool.importlinter]
root_package = "app"

[[tool.importlinter.contracts]]
name = "bottom"
type = "layers"
layers = ["app.train", "app.settings"]
""",
    "app/__init__.py": "",
    "app/settings.py": "STEPS = 4\n",
    "app/train.py": """\
from app.scores import score
from app.settings import STEPS


def emit(value):
    print(value)


def train(envs):
    for step in range(STEPS):  # hotpath: loop
        for env in envs:
            emit(score(env))
""",
    "app/scores.py": "def score(env):\n    return env.loss().detach()\n",
    "lib/there.py": "OLD = 1\n",
    "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef envs():\n    return []\n",
    "tests/helpers.py": "import pytest\n\n\ndef ask():\n    return 1\n",
    "tests/test_train.py": """\
import pytest

from app import train


@pytest.mark.parametrize("value", [1, 2])
def test_the_hub_is_told(monkeypatch, value):
    seen = []
    monkeypatch.setattr(train, "emit", seen.append)
    train.emit(value)
    assert seen == [value]


class TestScore:
    def test_score(self):
        assert train.score
""",
    "plans/split.toml": plan("app/scores.py", "score"),
    "plans/old/first.toml": plan("frozen/first.py", "FIRST"),
    "frozen/first.py": "FIRST = 1\n",
    "golden/runs/fit.toml": """\
command = ["python", "-m", "app.train", "--seed", "{seed}", "--out", "{out}", "--device", "{device}"]
seed = 4
profile = "portable"
budget = 5

[events]
files = "log.jsonl"

[args]
timeout = 1
""",
    "golden/fixtures/fit/common.json": "{}\n",
    "baseline.toml": "version = 1\n",
    "accepted.toml": 'version = 1\n[[accepted]]\nid = "1a"\nreason = "read"\n',
    ".github/workflows/gate.yml": "steps:\n  - run: golden-gate run --base origin/main\n",
    "README.md": "golden-gate\n",
}
FINDING = '[[finding]]\ncode = "HP001"\ntext = "x.item()"\npath = "a.py"\nfunction = "f"\nheat = "env"\n'


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_files(tmp_path_factory.mktemp("ways") / "base", FILES)
    commit(root)
    return root


@pytest.fixture
def head(base: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(base, tmp_path / "head"))


def names(base: Path, head: Path) -> set[str]:
    found = weakened(base, head)
    assert found is not None
    return {one.name for one in found}


def remove(file: str) -> Way:
    return lambda root: (root / file).unlink()


def move(before: str, after: str) -> Way:
    return lambda root: (
        (root / after).parent.mkdir(parents=True, exist_ok=True),
        (root / before).rename(root / after),
    )


def both(*ways: Way) -> Way:
    return lambda root: [way(root) for way in ways]


TEST = "tests/test_train.py"
RENAMED = "def points(env):\n    return env.loss().detach()\n"
IMPORT = swap("app/train.py", "from app.scores import score", "from lib.scores import points as score")

WAYS: list[tuple[str, Way, str]] = [
    # What the gate is asked for.
    ("no run", project('runs = ["fit"]\ncounts', "runs = []\ncounts"), "runs"),
    ("no contracts", project("contracts = true", "contracts = false"), "contracts"),
    ("no plans", project('plans = ["plans/*.toml"]\n', ""), "plans"),
    (
        "evidence elsewhere",
        project('paths = ["app"]\naccepted', 'paths = ["lib"]\naccepted'),
        "evidence.paths",
    ),
    (
        "a run stands for reading",
        project('accepted = "accepted.toml"', 'accepted = "accepted.toml"\nruns = ["fit"]'),
        "evidence.runs",
    ),
    ("another file of acceptances", project('"accepted.toml"', '"other.toml"'), "evidence.accepted"),
    ("less power", project("at_least = 0.5", "at_least = 0.0"), "power.at_least"),
    (
        "another module path",
        project('counts = ["fit"]', 'counts = ["fit"]\npythonpath = ["lib"]'),
        "pythonpath",
    ),
    ("a test command that passes", project('"-q", "tests"', '"--version"'), "tests.command"),
    # Acceptances that the change brings.
    (
        "its own acceptance",
        append("accepted.toml", '[[accepted]]\nid = "2b"\nreason = "fine"\n'),
        "evidence.accepted.2b",
    ),
    ("its own baseline", append("baseline.toml", FINDING), "hotpath.baseline"),
    # Comments and settings of the hot-path check.
    (
        "a stall is allowed",
        swap("app/scores.py", "detach()", "detach()  # hotpath: allow[HP001] why"),
        "hotpath.allow",
    ),
    ("a loop is cold", swap("app/train.py", "in envs:", "in envs:  # hotpath: cold"), "hotpath.cold"),
    ("a loop is hot no more", swap("app/train.py", "  # hotpath: loop", ""), "hotpath.loop"),
    ("a code is ignored", project("ignore = []", 'ignore = ["HP001"]'), "tool.codemods.hotpath.ignore"),
    (
        "a file is excluded",
        project("ignore = []", 'ignore = []\nexclude = ["app/*"]'),
        "tool.codemods.hotpath.exclude",
    ),
    ("other heat", project("ignore = []", 'ignore = []\nheat = ["once"]'), "tool.codemods.hotpath.heat"),
    # Code that moves to where no check reads it.
    ("into a build folder", move("app/scores.py", "app/build/scores.py"), "unread"),
    ("into a hidden folder", move("app/scores.py", "app/.scores/scores.py"), "unread"),
    ("out of the paths", move("app/scores.py", "lib/scores.py"), "unread"),
    ("out, and renamed", both(remove("app/scores.py"), write("lib/scores.py", RENAMED), IMPORT), "unread"),
    (
        "out, into a file that was there",
        both(remove("app/scores.py"), append("lib/there.py", RENAMED)),
        "unread",
    ),
    ("out, into a text", move("app/scores.py", "lib/scores.txt"), "unread"),
    (
        "new code beside",
        both(
            write("lib/fast.py", "for a in b:\n    a.item()\n"), append("app/train.py", "import lib.fast\n")
        ),
        "unread",
    ),
    (
        "new code, loaded by name",
        both(write("lib/quick.py", "import torch\n"), append("app/train.py", '__import__("lib.quick")\n')),
        "unread",
    ),
    # Contracts of import-linter.
    (
        "contracts in another file",
        write(".importlinter", "[importlinter]\nroot_package = app\n"),
        "importlinter.file",
    ),
    (
        "an import is ignored",
        project('type = "layers"', 'type = "layers"\nignore_imports = ["a -> b"]'),
        "importlinter.contracts.bottom.ignore_imports",
    ),
    ("no contract", project('name = "bottom"', 'name = "other"'), "importlinter.contracts.bottom"),
    # Runs, goldens, plans, seams.
    (
        "a tolerance",
        append("golden/runs/fit.toml", '[[tolerance]]\nfield = "loss"\nulps = 9\nreason = "r"\n'),
        "run.fit.tolerance.events.loss",
    ),
    ("another seed", swap("golden/runs/fit.toml", "seed = 4", "seed = 5"), "run.fit.seed"),
    ("another program", swap("golden/runs/fit.toml", "app.train", "app.settings"), "run.fit.command"),
    ("another argument", swap("golden/runs/fit.toml", "timeout = 1", "timeout = 2"), "run.fit.args"),
    ("no run file", remove("golden/runs/fit.toml"), "run.fit"),
    ("another golden", append("golden/fixtures/fit/common.json", "\n"), "golden.fit"),
    ("another plan", append("plans/split.toml", 'rest = "x.py"\n'), "plans.split"),
    ("no plan", remove("plans/split.toml"), "plans.split"),
    (
        "another plan of those that are only carried out",
        append("plans/old/first.toml", "rest = 'x.py'\n"),
        "plans.first",
    ),
    ("another frozen source", write("frozen/first.py", "FIRST = 2\n"), "plans.first"),
    (
        "a seam that no test replaces",
        swap(TEST, '    monkeypatch.setattr(train, "emit", seen.append)\n', ""),
        "seams.app/train.py.replaced",
    ),
    # Tests: which there are, which run, and who says so.
    ("no test", remove(TEST), "tests.cases"),
    ("a test less", swap(TEST, "def test_score(", "def score("), "tests.cases"),
    ("a test in a folder that pytest skips", move(TEST, "tests/build/test_train.py"), "tests.cases"),
    ("a test elsewhere", move(TEST, "more/test_train.py"), "tests.cases"),
    ("a test below an if", swap(TEST, "class TestScore:", "if 0:\n  class TestScore:"), "tests.cases"),
    ("a test that is deleted again", append(TEST, "\n\ndel test_the_hub_is_told\n"), "tests.cases"),
    (
        "a test is skipped",
        swap(TEST, "@pytest.mark.param", "@pytest.mark.skip\n@pytest.mark.param"),
        "tests.cases",
    ),
    (
        "a test may fail",
        swap(TEST, "class TestScore:", "@pytest.mark.xfail\nclass TestScore:"),
        "tests.cases",
    ),
    ("a test of no values", swap(TEST, "[1, 2]", "[]"), "tests.cases"),
    (
        "a module is skipped",
        swap(TEST, "from app", 'pytest.importorskip("nothing")\nfrom app'),
        "tests.cases",
    ),
    (
        "a class with a constructor",
        swap(TEST, "    def test_score", "    def __init__(self):\n        pass\n\n    def test_score"),
        "tests.cases",
    ),
    ("a helper skips", swap("tests/helpers.py", "return 1", 'pytest.skip("no")'), "tests.skips"),
    (
        "options of pytest",
        project('addopts = "-q"', 'addopts = "-k nothing"'),
        "tests.settings.pytest.ini_options.addopts",
    ),
    (
        "settings in pytest.ini",
        write("pytest.ini", "[pytest]\naddopts = --co\n"),
        "tests.settings.pytest.ini.there",
    ),
    (
        "settings beside the tests",
        write("tests/tox.ini", "[pytest]\naddopts = --co\n"),
        "tests.settings.tests/tox.ini.pytest.addopts",
    ),
    (
        "settings in setup.cfg",
        write("setup.cfg", "[tool:pytest]\naddopts = --co\n"),
        "tests.settings.setup.cfg.tool:pytest.addopts",
    ),
    (
        "a hook",
        append("tests/conftest.py", "\n\ndef pytest_collection_modifyitems(items):\n    items.clear()\n"),
        "tests.plugins",
    ),
    ("a conftest.py", write("conftest.py", 'collect_ignore = ["tests"]\n'), "tests.plugins"),
    (
        "a plugin",
        both(
            write("quiet.py", "def pytest_runtest_call(item): pass\n"),
            project('addopts = "-q"', 'addopts = "-q -p quiet"'),
        ),
        "tests.plugins",
    ),
    # Modules that stand in for a tool's.
    ("pytest.py", write("pytest.py", "raise SystemExit(0)\n"), "shadows.pytest"),
    ("click.py in src", write("src/click.py", ""), "shadows.click"),
    ("a package importlinter", write("importlinter/__init__.py", ""), "shadows.importlinter"),
    ("sitecustomize.py", write("sitecustomize.py", ""), "shadows.sitecustomize"),
    ("json.py", write("json.py", ""), "shadows.json"),
    ("torch", write("torch/__init__.py", ""), "shadows.torch"),
    ("a module without source", write("pluggy.pyc", ""), "shadows.pluggy"),
    # Who calls the gate.
    (
        "a workflow that skips",
        swap(".github/workflows/gate.yml", "golden-gate run", "golden-gate run --skip golden"),
        "workflow",
    ),
]


@pytest.mark.parametrize(("way", "name"), [pytest.param(way, name, id=what) for what, way, name in WAYS])
def test_no_way_passes_unlisted(way: Way, name: str, base: Path, head: Path) -> None:
    way(head)
    assert name in names(base, head)


@pytest.mark.parametrize(
    "harmless",
    [
        pytest.param(write("app/more.py", "def more():\n    return 1\n"), id="code where it is read"),
        pytest.param(write("lib/alone.py", "def alone():\n    return 1\n"), id="code that nothing names"),
        pytest.param(
            write("tests/test_more.py", "import pytest\n\n\n@pytest.mark.skip\ndef test_more(): ...\n"),
            id="a test",
        ),
        pytest.param(move(TEST, "tests/more/test_train.py"), id="a test moves"),
        pytest.param(append("tests/conftest.py", "\n# a comment\n"), id="a comment in conftest.py"),
        pytest.param(append("plans/split.toml", "# a comment\n"), id="a comment in a plan"),
        pytest.param(project('markers = ["slow"]', 'markers = ["slow", "fast"]'), id="a mark"),
        pytest.param(write("plans/second.toml", plan("lib/there.py", "OLD")), id="another plan"),
        pytest.param(write("setup.cfg", "[metadata]\nname = app\n"), id="other settings"),
        pytest.param(write("app/json.py", ""), id="a module inside a package"),
        pytest.param(append("README.md", "golden-gate run\n"), id="a page that names the gate"),
        pytest.param(write(".github/workflows/other.yml", "golden-gate\n"), id="another workflow"),
        pytest.param(write("accepted.toml", "version = 1\n"), id="fewer acceptances"),
    ],
)
def test_what_switches_nothing_off_is_not_listed(harmless: Way, base: Path, head: Path) -> None:
    harmless(head)
    assert not names(base, head)


def test_a_gate_nearer_to_where_the_gate_is_called_is_listed(base: Path, head: Path) -> None:
    (base / "part").mkdir()
    (head / "part").mkdir()
    write("part/pyproject.toml", "[tool.gate]\n")(head)
    assert names(base / "part", head / "part") == {"tool.gate"}


def test_what_cant_be_read_is_listed(base: Path, head: Path) -> None:
    write("setup.cfg", "[importlinter\n")(head)
    write("baseline.toml", "[[")(head)
    assert {"tests.settings", "hotpath.baseline"} <= names(base, head)
