"""The baseline file: what it accepts, when it is stale, and how it is brought up to date."""

import tomllib

import pytest

from tests.codemods.hotpath.conftest import Project

Capture = pytest.CaptureFixture[str]
TRAIN = """
def train(envs, losses):
    for env in envs:
        print(losses[env.index].item())
"""
ENTRY = """
[[finding]]
code = "HP001"
text = "losses[env.index].item()"
path = "train.py"
function = "train"
heat = "env"
reason = "debugging aid, off in production"
"""


def baseline(project: Project, text: str) -> str:
    path = project.root / "hotpath-baseline.toml"
    path.write_text(f"version = 2\n{text}")
    return str(path)


def test_accepts_what_it_names(project: Project, capsys: Capture) -> None:
    project.write(train=TRAIN)
    path = baseline(project, ENTRY)
    assert project.run("--baseline", path) == 0
    assert "nothing new stalls" in capsys.readouterr().out
    project.write(train=TRAIN + "        total = losses[env.index].item()\n")
    assert project.run("--baseline", path) == 1


def test_is_read_where_configured(project: Project) -> None:
    project.write(train=TRAIN)
    assert project.run() == 1
    baseline(project, ENTRY)
    project.configure('baseline = "hotpath-baseline.toml"')
    assert project.run() == 0


def test_stale_entries_are_errors(project: Project, capsys: Capture) -> None:
    project.write(train=TRAIN.replace(".item()", ""))
    assert project.run("--baseline", baseline(project, ENTRY), "--quiet") == 1
    out = capsys.readouterr().out
    assert "hotpath-baseline.toml:3:1: HP902 stale baseline entry: HP001 `losses[env.index].item()`" in out
    assert "--update-baseline" in out


def test_a_count_that_is_too_high_is_stale(project: Project, capsys: Capture) -> None:
    project.write(train=TRAIN)
    assert project.run("--baseline", baseline(project, ENTRY + "count = 3\n"), "--quiet") == 1
    assert "2 of 3 match nothing" in capsys.readouterr().out


def test_update_lists_what_it_adds_and_where_its_reason_goes(project: Project, capsys: Capture) -> None:
    project.write(train=TRAIN)
    path = project.root / "hotpath-baseline.toml"
    update = ("--baseline", str(path), "--update-baseline")
    assert project.run(*update) == 0
    out = capsys.readouterr().out
    assert "added: train.py:3:15: HP001" in out
    assert "1 added, 0 pruned; write there why each is accepted" in out
    (entry,) = tomllib.loads(path.read_text())["finding"]
    assert entry == {
        "code": "HP001",
        "text": "losses[env.index].item()",
        "path": "train.py",
        "function": "train",
        "heat": "env",
        "reason": "accepted by --update-baseline",
    }
    assert project.run("--baseline", str(path)) == 0


def test_update_prunes_and_keeps_reasons_over_a_move(project: Project, capsys: Capture) -> None:
    gone = ENTRY.replace("losses[env.index].item()", "gone.cpu()").replace("HP001", "HP002")
    path = baseline(project, ENTRY + gone)
    project.write(
        train="""
        def show(losses, env):
            print(losses[env.index].item())


        def train(envs, losses):
            for env in envs:
                show(losses, env)
        """
    )
    assert project.run("--baseline", path, "--update-baseline") == 0
    assert "pruned: 1 of HP002 `gone.cpu()`" in capsys.readouterr().out
    (entry,) = tomllib.loads((project.root / "hotpath-baseline.toml").read_text())["finding"]
    assert entry["function"] == "show"
    assert entry["reason"] == "debugging aid, off in production"


def test_update_is_stable_and_names_no_line(project: Project) -> None:
    project.write(train=TRAIN + "        print(losses.cpu(), losses.cpu())\n")
    path = project.root / "b.toml"
    update = ("--baseline", str(path), "--update-baseline")
    project.run(*update)
    first = path.read_text()
    project.write(train="# a remark\n\n\n" + TRAIN + "        print(losses.cpu(), losses.cpu())\n")
    project.run(*update)
    assert path.read_text() == first
    assert "count = 2" in first
    assert first.index('"HP001"') < first.index('"HP002"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[finding]", "not valid TOML"),
        ("other = 1", ":1: unknown key other"),
        (ENTRY + "line = 3\n", ":3: unknown key line; known are"),
        (
            ENTRY.replace('reason = "debugging aid, off in production"', 'reason = ""'),
            ":3: reason must be there",
        ),
        (ENTRY + 'owner = "me"\n', ":3: entries have no owner any more; take out the lines with owner"),
        (ENTRY.replace("HP001", "HP999"), ":3: no such code HP999"),
        (ENTRY + "count = 0\n", ":3: count must be a number, 1 or more"),
        (ENTRY.replace('"train"', "1"), ":3: function must be a string"),
        (ENTRY.replace('"env"', '"hour"'), ":3: no such heat hour; known are env, step"),
        ("finding = [{}]\n", ":1: findings must be [[finding]] tables"),
    ],
)
def test_unusable(project: Project, text: str, message: str, capsys: Capture) -> None:
    project.write(train=TRAIN)
    assert project.run("--baseline", baseline(project, text)) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_wrong_version(project: Project, capsys: Capture) -> None:
    project.write(train=TRAIN)
    path = project.root / "b.toml"
    path.write_text("version = 3\n")
    assert project.run("--baseline", str(path)) == 2
    assert ":1: version must be 2" in capsys.readouterr().err


def test_a_baseline_of_an_earlier_version_says_how_to_renew_it(project: Project, capsys: Capture) -> None:
    project.write(train=TRAIN)
    path = project.root / "b.toml"
    path.write_text("version = 1\n")
    assert project.run("--baseline", str(path)) == 2
    err = capsys.readouterr().err
    assert "delete the file and make it anew with --update-baseline" in err
    assert err.count("\n") == 1


def test_missing(project: Project, capsys: Capture) -> None:
    project.write(train=TRAIN)
    assert project.run("--baseline", str(project.root / "b.toml")) == 2
    assert "no such baseline; make it with --update-baseline" in capsys.readouterr().err
