"""Against a git commit: what is new fails with its way from the loop, what was only moved passes."""

from pathlib import Path

import pytest

from tests.codemods.hotpath.conftest import Project

Capture = pytest.CaptureFixture[str]


def test_nothing_changed(repository: Project, capsys: Capture) -> None:
    assert repository.run("--base", "main") == 0
    out = capsys.readouterr().out
    assert "nothing new stalls in 1 loop over environments in 1 file;" in out
    assert out.rstrip().endswith("1 accepted by main")


def test_one_item_in_a_called_function_fails(repository: Project, capsys: Capture) -> None:
    text = (repository.root / "train.py").read_text()
    (repository.root / "train.py").write_text(
        text.replace("    env_state.losses.append(loss.detach())", "    env_state.total += loss.item()")
    )
    assert repository.run("--base", "main") == 1
    out = capsys.readouterr().out
    assert "train.py:5:24: HP001" in out
    assert "loop   train.py:9   for env_idx, env_state in enumerate(env_states):   (in train)" in out
    assert "calls  train.py:10  step(env_state, losses[env_idx])" in out
    assert "losses[env_idx].item()" not in out, "the stall that was there is not told again"
    assert out.rstrip().endswith("1 accepted by main")


def test_a_move_with_one_more_fails(repository: Project, capsys: Capture) -> None:
    text = (repository.root / "train.py").read_text()
    (repository.root / "train.py").rename(repository.root / "trainer.py")
    (repository.root / "trainer.py").write_text(f"{text}        env_state.stream.synchronize()\n")
    assert repository.run("--base", "main", "--quiet") == 1
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("trainer.py:12:9: HP011 ")


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        pytest.param(
            "def read(envs):\n    for env in envs:\n        a(env)\n        b(env)\n        env.x.item()\n",
            "def mean(envs):\n    for env in envs:\n        c(env)\n        d(env)\n        env.x.item()\n",
            1,
            id="a function of little in common",
        ),
        pytest.param(
            "def read(envs):\n    for env in envs:\n        env.total += env.loss.item()\n",
            "def read(envs):\n    for env in envs:\n        env.total += of(env)\n\n\n"
            "def of(env):\n    return env.loss.item()\n",
            0,
            id="taken out into a function that is called there",
        ),
        pytest.param(
            "def read(envs):\n    for env in envs:\n        log(env)\n        env.loss.item()\n\n\n"
            "def mean(envs):\n    for env in envs:\n        log(env)\n",
            "def read(envs):\n    for env in envs:\n        log(env)\n\n\n"
            "def mean(envs):\n    for env in envs:\n        log(env)\n        env.loss.item()\n",
            1,
            id="from one function to another that were both there",
        ),
        pytest.param(
            "def of(env):\n    return env.loss.item()\n\n\n"
            "def read(envs):\n    for env in envs:\n        env.total += of(env)\n",
            "def of(env):\n    return env.loss.item()\n\n\n"
            "def read(envs):\n    for env in envs:\n        env.total += of(env) + of(env)\n",
            1,
            id="called twice on a line",
        ),
    ],
)
def test_what_is_known_by_another_function(before: str, after: str, status: int, repository: Project) -> None:
    repository.write(other=before)
    repository.commit()
    repository.write(other=after)
    assert repository.run("--base", "HEAD") == status


def test_files_of_the_commit_below_the_paths_only(repository: Project) -> None:
    repository.write(other="def run(envs):\n    return [env.loss.item() for env in envs]\n")
    repository.commit()
    assert repository.run("--base", "HEAD") == 0
    assert repository.run("--base", "HEAD~1") == 1


def test_the_commit_s_files_are_those_that_are_read_of_the_tree(repository: Project) -> None:
    stalls = "def run(envs):\n    return [env.loss.item() for env in envs]\n"
    repository.write(**{"build/other": stalls, "dist/a/more": stalls, ".hidden/more": stalls})
    repository.commit()
    repository.write(other=stalls)
    assert repository.run("--base", "HEAD") == 1


def test_no_such_commit(repository: Project, capsys: Capture) -> None:
    assert repository.run("--base", "nowhere") == 2
    assert capsys.readouterr().err == (
        "codemods hotpath: --base: nowhere: no such commit; name a branch, tag or commit\n"
    )


def test_no_repository(project: Project, capsys: Capture) -> None:
    project.write(train="x = 1")
    assert project.run("--base", "main") == 2
    assert "not a git repository" in capsys.readouterr().err


def test_without_git(
    repository: Project, monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert repository.run("--base", "main") == 2
    assert "git is not installed; compare with a baseline file" in capsys.readouterr().err
