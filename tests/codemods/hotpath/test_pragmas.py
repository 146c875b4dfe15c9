"""Allow comments: where they may stand, what they must say, and what is told of wrong ones."""

import pytest

from tests.codemods.hotpath.conftest import Project

Capture = pytest.CaptureFixture[str]
TRAIN = """
def read(value):
    return value.item(){stall}


def train(envs, losses):
    for env in envs:{loop}
        read(losses[env.index]){call}
"""


def train(**comments: str) -> str:
    return TRAIN.format(**{"stall": "", "loop": "", "call": "", **comments})


@pytest.mark.parametrize("where", ["stall", "call", "loop"])
def test_allowed_anywhere_on_the_way(project: Project, where: str, capsys: Capture) -> None:
    project.write(train=train(**{where: "  # hotpath: allow[HP001] read once per run"}))
    assert project.run() == 0
    assert "1 allowed by comments" in capsys.readouterr().out


def test_on_a_line_of_its_own(project: Project) -> None:
    text = train().replace(
        "    return value.item()", "    # hotpath: allow[HP001] read once\n    return value.item()"
    )
    project.write(train=text)
    assert project.run() == 0


@pytest.mark.parametrize(
    ("comment", "told"),
    [
        ("allow[HP001]", "HP901"),
        ("allow[] because", "HP901"),
        ("allow[HP777] because", "HP901"),
        ("ignore", "HP901"),
        ("allow[HP002] because", "HP900"),
    ],
)
def test_wrong_comments_allow_nothing(project: Project, comment: str, told: str, capsys: Capture) -> None:
    project.write(train=train(stall=f"  # hotpath: {comment}"))
    assert project.run("--quiet") == 1
    out = capsys.readouterr().out
    assert f"train.py:2:26: {told}" in out
    assert "train.py:2:12: HP001" in out


def test_unused_comment(project: Project, capsys: Capture) -> None:
    project.write(train="x = 1  # hotpath: allow[HP001] was needed once\n")
    assert project.run("--quiet") == 1
    assert "train.py:1:8: HP900" in capsys.readouterr().out


def test_in_a_string_it_is_no_comment(project: Project) -> None:
    project.write(train='x = "# hotpath: allow[HP001]"\n')
    assert project.run("--allow-no-loops") == 0


def test_add_allow(project: Project, capsys: Capture) -> None:
    project.write(train=train())
    assert project.run("--add-allow", "read once per run") == 0
    assert capsys.readouterr().out == "train.py: 1 comment\n"
    text = (project.root / "train.py").read_text()
    assert "return value.item()  # hotpath: allow[HP001] read once per run\n" in text
    assert project.run() == 0
    assert project.run("--add-allow", "again") == 0
    assert (project.root / "train.py").read_text() == text


def test_add_allow_needs_a_reason(project: Project, capsys: Capture) -> None:
    project.write(train=train())
    assert project.run("--add-allow", " ") == 2
    assert "a reason is required" in capsys.readouterr().err


def test_add_allow_keeps_line_ends_and_other_comments(project: Project) -> None:
    path = project.root / "train.py"
    path.write_bytes(b"def f(envs):\r\n    for env in envs:\r\n        env.x.item()  # why\r\n")
    assert project.run("--add-allow", "fine") == 0
    assert path.read_bytes().endswith(b"env.x.item()  # why  # hotpath: allow[HP001] fine\r\n")
    assert project.run() == 0


def test_add_allow_refuses_a_line_that_can_take_none(project: Project, capsys: Capture) -> None:
    project.write(
        train='''
        def f(envs):
            for env in envs:
                print(env.x.item(), """a
                string""")
        '''
    )
    before = (project.root / "train.py").read_text()
    assert project.run("--add-allow", "fine") == 2
    assert "train.py:3: a comment there would change the program" in capsys.readouterr().err
    assert (project.root / "train.py").read_text() == before


STEPS = """
def train(things, x):{cold}
    for thing in things:{loop}
        x.item()
"""


def test_a_loop_is_hot_by_a_comment(project: Project, capsys: Capture) -> None:
    project.write(train=STEPS.format(cold="", loop=""))
    assert project.run() == 2
    project.write(train=STEPS.format(cold="", loop="  # hotpath: loop"))
    capsys.readouterr()
    assert project.run("--quiet") == 1
    assert "train.py:3:9: HP001 `.item()` reads one element, per step" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["env", "batch"])
def test_a_loop_is_cold_by_a_comment(project: Project, name: str) -> None:
    text = "import torch\n\n\ndef run({0}_loader, x):\n    for {0} in {0}_loader:{1}\n        x.item()\n"
    project.write(train=text.format(name, ""))
    assert project.run() == 1
    project.write(train=text.format(name, "  # hotpath: cold: once a day"))
    assert project.run("--allow-no-loops") == 0


@pytest.mark.parametrize("where", ["    # hotpath: cold\n", ""])
def test_a_function_is_cold_by_a_comment(project: Project, where: str) -> None:
    behind = "" if where else "  # hotpath: cold"
    call = "class T:\n    def run(self, envs):\n        for env in envs:\n            self.report(env)\n\n"
    project.write(train=f"{call}{where}    def report(self, env):{behind}\n        env.loss.item()\n")
    assert project.run() == 0


def test_a_comment_that_is_at_no_loop_is_told(project: Project, capsys: Capture) -> None:
    project.write(train=train(stall="  # hotpath: cold"))
    assert project.run("--quiet") == 1
    assert "train.py:2:26: HP900" in capsys.readouterr().out
