"""The command: what it prints in each format, its exit statuses, its configuration."""

import json
from pathlib import Path

import pytest

from codemods.__main__ import main as codemods
from codemods.hotpath import check, main
from codemods.hotpath.cli import FORMATS
from codemods.hotpath.config import Config
from tests.codemods.hotpath.conftest import Project

Capture = pytest.CaptureFixture[str]
TRAIN = """
def read(value):
    return value.item()


class Trainer:
    def run(self):
        for env_idx in range(self.n_envs):
            print(read(self.losses[env_idx]))
"""


@pytest.fixture
def trainer(project: Project) -> Project:
    project.write(train=TRAIN)
    return project


def test_full(trainer: Project, capsys: Capture) -> None:
    assert trainer.run() == 1
    assert capsys.readouterr().out == (
        "train.py:2:12: HP001 `.item()` reads one element, per env\n"
        "  |\n"
        "2 |     return value.item()\n"
        "  |            ^^^^^^^^^^^^\n"
        "  loop   train.py:7  for env_idx in range(self.n_envs):   (in Trainer.run)\n"
        "  calls  train.py:8  print(read(self.losses[env_idx]))   (in Trainer.run)\n"
        "  stalls train.py:2  return value.item()   (in read)\n"
        "  = instead: Keep the value on the device in the loop, stack after it, and read all at once after "
        "the fence.\n"
        "\n"
        "hotpath: 1 finding in 1 loop over environments in 1 file; 1 function runs in it; 1 call followed\n"
    )
    assert trainer.run("--quiet") == 1
    assert capsys.readouterr().out == (
        "train.py:2:12: HP001 `.item()` reads one element, per env: `value.item()`; loop train.py:7 "
        "`for env_idx in range(n_envs)` -> read (train.py:8)\n"
    )


MANY = """
def read(value):
    return value.item()


def log(value):
    return read(value)


class Trainer:
    def run(self):
        for env_idx in range(self.n_envs):
            log(self.losses[env_idx])
            read(self.losses[env_idx])
        for env in self.envs:
            read(env.loss)
"""


def test_a_place_is_told_once_with_the_number_of_ways_to_it(project: Project, capsys: Capture) -> None:
    project.write(train=MANY)
    assert project.run("--quiet") == 1
    (told,) = capsys.readouterr().out.splitlines()
    assert told.endswith(
        "loop train.py:11 `for env_idx in range(n_envs)` -> read (train.py:13); "
        "2 other ways lead here, from loops train.py:11, train.py:14"
    )
    assert project.run() == 1
    full = capsys.readouterr().out
    assert "\nhotpath: 3 findings at 1 place in 2 loops over environments in 1 file;" in full
    assert full.count("HP001") == 1
    assert "\n  also   2 other ways lead here, from loops train.py:11, train.py:14\n  = instead" in full
    assert project.run("--output-format", "github") == 1
    assert capsys.readouterr().out.count("::error") == 1
    assert project.run("--output-format", "json") == 1
    assert len(json.loads(capsys.readouterr().out)["findings"]) == 3


def test_clean(project: Project, capsys: Capture) -> None:
    project.write(train="def run(envs):\n    return [env.step() for env in envs]\n")
    assert project.run() == 0
    assert capsys.readouterr().out == (
        "hotpath: nothing stalls in 1 loop over environments in 1 file; 0 functions run in it; "
        "0 calls followed\n"
    )


def test_exit_zero_and_output(trainer: Project, capsys: Capture, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    assert trainer.run("--exit-zero", "--output-format", "json", "--output", str(target)) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(target.read_text())["findings"]


def test_json(trainer: Project, capsys: Capture) -> None:
    trainer.run("--output-format", "json")
    document = json.loads(capsys.readouterr().out)
    (finding,) = document["findings"]
    assert (document["version"], document["files"], document["loops"]) == (1, 1, 1)
    assert finding["code"] == "HP001"
    assert [finding[name] for name in ("path", "line", "column", "end_column")] == ["train.py", 2, 12, 24]
    assert (finding["function"], finding["text"], finding["state"]) == ("read", "value.item()", "new")
    assert finding["loop"]["header"] == "for env_idx in range(n_envs)"
    assert [call["function"] for call in finding["calls"]] == ["read"]


def test_fingerprints_stay_over_a_move(trainer: Project, capsys: Capture) -> None:
    trainer.run("--output-format", "json")
    before = json.loads(capsys.readouterr().out)["findings"]
    helper, loop = TRAIN.split("\n\n\n")
    trainer.write(train=f"from helpers import read\n\n\n{loop}", helpers=f"# moved\n{helper}\n")
    trainer.run("--output-format", "json")
    after = json.loads(capsys.readouterr().out)["findings"]
    assert [finding["fingerprint"] for finding in after] == [finding["fingerprint"] for finding in before]
    assert after[0]["path"] == "helpers.py"


def test_github(trainer: Project, capsys: Capture) -> None:
    trainer.run("--output-format", "github")
    assert capsys.readouterr().out == (
        "::error title=HP001 item,file=train.py,line=2,endLine=2,col=12,endColumn=24::`.item()` reads one "
        "element, called in `for env_idx in range(n_envs)`%0Aloop train.py:7 `for env_idx in range(n_envs)`"
        " -> read (train.py:8)\n"
    )


def test_one_command_for_all_and_one_status_in_all_formats(trainer: Project) -> None:
    for output_format in FORMATS:
        assert codemods(["hotpath", str(trainer.root), "--output-format", output_format]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no PATH given"),
        (("missing",), "missing: no such file or folder"),
        ((".", "--base", "x", "--baseline", "y"), "--base and --baseline exclude each other"),
        ((".", "--root", "missing"), "--root missing: no such folder"),
        ((".", "--owner", "me"), "No such option '--owner'"),
        ((".", "--output-format", "junit"), "'junit' is not one of 'text', 'json', 'github', 'sarif'"),
        ((".", "--measured", "missing.json"), "missing.json: can't be read"),
    ],
)
def test_unusable_arguments(
    arguments: tuple[str, ...],
    message: str,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.chdir(project.root)
    assert main([*arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"def f(:\n",
            "other.py:1:1: HP903 a file, or a function in it, that could not be looked at: not valid",
        ),
        (b"x = '\xff'\n", "other.py:1:1: HP903"),
        (b"x = 1\0\n", "HP903"),
        (b"x = " + b"(" * 300 + b")" * 300, "other.py:1:1: HP903"),
        (b"x = " + b"-" * 20_000 + b"1", "HP903"),
    ],
)
def test_unreadable_files_are_findings_and_the_others_are_checked(
    trainer: Project, data: bytes, message: str, capsys: Capture
) -> None:
    (trainer.root / "other.py").write_bytes(data)
    assert trainer.run("--quiet") == 1
    out = capsys.readouterr().out
    assert message in out
    assert "train.py:2:12: HP001" in out
    assert out.count("\n") == 2


def test_no_control_character_of_a_source_reaches_the_terminal(trainer: Project, capsys: Capture) -> None:
    (trainer.root / "other.py").write_bytes(b'x = "\x1b[31m\xc2\x9b" +\n')
    (trainer.root / "more.py").write_bytes(b"x = 1  # hotpath: \x1b[31mallow\n")
    assert trainer.run() == 1
    out = capsys.readouterr().out
    assert '1 | x = "\\x1b[31m\\x9b" +' in out
    assert "# hotpath: \\x1b[31mallow" in out
    assert "\x1b" not in out
    assert "\x9b" not in out


def test_a_link_whose_target_is_gone_is_a_finding(trainer: Project, capsys: Capture) -> None:
    (trainer.root / "gone.py").symlink_to(trainer.root / "nowhere.py")
    assert trainer.run("--quiet") == 1
    out = capsys.readouterr().out
    assert "gone.py:1:1: HP903" in out
    assert "HP001" in out


def test_an_unreadable_file_is_not_accepted_by_a_baseline(trainer: Project, capsys: Capture) -> None:
    path = str(trainer.root / "hotpath-baseline.toml")
    (trainer.root / "other.py").write_text("def f(:\n")
    assert trainer.run("--update-baseline", "--baseline", path) == 0
    capsys.readouterr()
    assert trainer.run("--quiet", "--baseline", path) == 1
    assert "HP903" in capsys.readouterr().out


def test_code_nested_too_deeply_to_be_followed_is_named(trainer: Project, capsys: Capture) -> None:
    deep = "+".join(["x"] * 3000)
    trainer.write(other=f"def run(envs, x):\n    for env in envs:\n        y = {deep}\n")
    trainer.run("--quiet")
    out = capsys.readouterr().out
    assert "train.py:2:12: HP001" in out
    # Either it was followed, or it is named: never silently left out.
    assert out.count("\n") == 1 or ("HP903" in out and "other.py" in out)


def test_no_hot_loop_is_told_and_no_success(project: Project, capsys: Capture) -> None:
    project.write(train="def add(a, b):\n    return a + b\n")
    assert project.run() == 2
    captured = capsys.readouterr()
    assert captured.out == "hotpath: no hot loop in 1 file: nothing was checked\n"
    assert captured.err.startswith("codemods hotpath: no hot loop in 1 file: nothing was checked; name other")
    assert captured.err.count("\n") == 1
    assert project.run("--allow-no-loops") == 0
    assert project.run("--exit-zero") == 0


def test_a_pattern_without_letters_matches_and_switches_nothing_off(project: Project) -> None:
    project.write(train="def run(envs, x):\n    for env in envs:\n        env.loss.item()\n")
    for key in ("loop_variables", "iterables", "annotations"):
        project.configure(f"{key} = {json.dumps([*getattr(Config(), key), '*_*'])}")
        assert project.run() == 1
    project.write(train="def run(things):\n    for i in things:\n        i.loss.item()\n")
    project.configure('loop_variables = ["[ij]"]')
    assert project.run() == 1


def test_output_that_cannot_be_written(trainer: Project, capsys: Capture) -> None:
    assert trainer.run("--output", str(trainer.root / "no" / "folder")) == 2
    assert "can't be written" in capsys.readouterr().err


def test_configured_patterns(project: Project, capsys: Capture) -> None:
    project.write(train="def run(workers):\n    for worker in workers:\n        worker.loss.item()\n")
    assert project.run() == 2
    project.configure('loop_variables = ["worker"]')
    assert project.run() == 1
    project.configure('iterables = ["work*"]')
    assert project.run() == 1
    project.configure('iterables = ["work*"]\nexclude_iterables = ["workers"]')
    assert project.run("--allow-no-loops") == 0


def test_configured_codes_and_paths(project: Project) -> None:
    project.write(train="def run(envs):\n    for env in envs:\n        env.loss.item()\n")
    project.configure('ignore = ["HP001"]')
    assert project.run() == 0
    project.configure('exclude = ["tr*.py"]')
    assert project.run() == 2
    assert project.run("--allow-no-loops") == 0


def test_following_methods_by_name_can_be_turned_off(project: Project) -> None:
    project.write(
        train="""
        class Governor:
            def judge_loss(self, loss):
                return loss.item()


        def run(envs):
            for env in envs:
                env.governor.judge_loss(env.loss)
        """
    )
    assert project.run() == 1
    project.configure("follow_unknown = 0")
    assert project.run() == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'itrables = ["x"]',
            "pyproject.toml:2: [tool.codemods.hotpath] itrables: unknown key; did you mean iterables?",
        ),
        ('iterables = "x"', "iterables: must be a list of strings"),
        ("follow_unknown = true", "follow_unknown: must be a number, 0 or more"),
        ("baseline = 3", "baseline: must be a string"),
        ('ignore = ["HP999"]', "ignore: no such code HP999"),
        ('heat = ["hot"]', "heat: no such heat hot; known are env, step, every-n, epoch, once"),
        ("ignore = [", "pyproject.toml:2: not valid TOML: Invalid value (at end of document)"),
        (
            "[tool.codemods.hotpth]",
            "pyproject.toml:1: [tool.codemods] hotpth: unknown table; known is hotpath",
        ),
        ("[tool]\ncodemods = 3", "[tool.codemods]: must be a table"),
        (
            "[tool.codemods]\nhotpath = 3",
            "pyproject.toml:2: [tool.codemods] hotpath: must be a table",
        ),
    ],
)
def test_wrong_configuration(trainer: Project, text: str, message: str, capsys: Capture) -> None:
    table = "" if text.startswith("[tool") else "[tool.codemods.hotpath]\n"
    (trainer.root / "pyproject.toml").write_text(table + text)
    assert trainer.run() == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_knobs() -> None:
    assert " ".join(sorted(Config.__dataclass_fields__)) == (
        "annotations baseline exclude exclude_iterables follow_unknown heat ignore iterables loaders "
        "loop_variables per_path_ignores select step_iterables step_variables"
    )


def test_measured_syncs_confirm_rows_and_show_what_is_missed(
    trainer: Project, capsys: Capture, tmp_path: Path
) -> None:
    def sync(line: int, count: int) -> dict[str, object]:
        counts = {"often": f"{count} a step", "count": count, "windows": 4}
        return {"file": "train.py", "line": line, "kind": "item", "call": "", **counts}

    path = tmp_path / "syncs.json"
    measured = {"steps": 4, "syncs": [sync(2, 12), sync(8, 4)], "ran": []}
    path.write_text(json.dumps(measured))
    assert trainer.run("--measured", str(path)) == 1
    assert capsys.readouterr().out == (
        "train.py:2: HP001 env: confirmed, item 12 a step\n"
        "train.py:8: not reported, item 4 a step\n"
        "hotpath: 1 of 1 reported operations that ran wait, 1 as often as said; 0 did not run; "
        "1 of 2 lines that wait in loops are reported\n"
    )
    for ran, said in (([], "not executed"), ([{"file": "train.py", "function": "read"}], "no sync")):
        path.write_text(json.dumps({"steps": 4, "syncs": [], "ran": ran}))
        assert trainer.run("--measured", str(path)) == 0
        assert f"HP001 env: {said}\n" in capsys.readouterr().out


def test_a_run_from_another_folder_is_compared_and_one_of_other_files_is_not(
    trainer: Project, capsys: Capture, tmp_path: Path
) -> None:
    path = tmp_path / "syncs.json"
    row = {"line": 2, "kind": "item", "call": "", "often": "3 a step", "count": 12, "windows": 4}
    (trainer.root / "inner").mkdir()
    (trainer.root / "train.py").rename(trainer.root / "inner" / "train.py")
    for file in ("train.py", "project/inner/train.py"):
        path.write_text(json.dumps({"steps": 4, "syncs": [{"file": file, **row}], "ran": []}))
        assert trainer.run("--measured", str(path)) == 0
        assert "inner/train.py:2: HP001 env: confirmed, item 3 a step\n" in capsys.readouterr().out
    path.write_text(json.dumps({"steps": 4, "syncs": [{"file": "other.py", **row}], "ran": []}))
    assert trainer.run("--measured", str(path)) == 2
    assert "no file of the measured run is among those that were checked" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "not valid JSON"), ("[]", "not a file of"), ('{"syncs": [{}]}', "not a file of")],
)
def test_unusable_measurements(
    trainer: Project, text: str, message: str, capsys: Capture, tmp_path: Path
) -> None:
    path = tmp_path / "syncs.json"
    path.write_text(text)
    assert trainer.run("--measured", str(path)) == 2
    assert message in capsys.readouterr().err


def test_as_a_function(trainer: Project) -> None:
    report = check([trainer.root])
    assert [finding.code for finding in report.findings] == ["HP001"]
    assert check([trainer.root], Config(ignore=("HP001",))).findings == ()


_STALL = "def run(envs):\n    return [env.loss.item() for env in envs]\n"


def test_codes_ignored_everywhere(project: Project, capsys: Capture) -> None:
    project.write(train=_STALL, broken="def (")
    project.configure('ignore = ["HP001"]\n')
    assert project.run("--quiet") == 1
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["HP903"]
    project.configure('ignore = ["HP001", "HP903"]\n')
    assert project.run() == 0


def test_codes_ignored_in_some_files(project: Project, capsys: Capture) -> None:
    project.write(train=_STALL, tools__report=_STALL)
    project.configure('per_path_ignores = ["tools/*: HP001 HP009"]')
    assert project.run("--quiet") == 1
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["train.py"]
    project.configure('per_path_ignores = ["tools/*"]')
    assert project.run() == 2
    assert 'tools/*: must be like "tests/*: HP001 HP009"' in capsys.readouterr().err
    project.configure('per_path_ignores = ["tools/*: HP1"]')
    assert project.run() == 2
    assert "no such code HP1" in capsys.readouterr().err


SCREEN = """
import torch
from timm.utils import accuracy

def train(model: torch.nn.Module, loader, optimizer, meter):
    for step, x in enumerate(loader):
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        meter.add_unknown(accuracy(loss, x))
        if step % 10 == 0:
            print(loss.item(), loss.max().item())
"""


def test_the_last_line_says_what_is_not_shown_and_what_was_not_looked_at(
    project: Project, capsys: Capture
) -> None:
    project.write(train=SCREEN)
    for more in ([], ["--output-format", "json"]):
        assert project.run("--root", str(project.root), *more) == 0  # the second is kept
    out = capsys.readouterr().out
    said = "2 not (1 of something unknown, 1 of other packages); not shown: 2 every so many steps (--heat"
    assert said in out
    told = json.loads(out[out.index("{") :])
    assert told["less_hot"] == {"every-n": 2}
    assert [item["why"] for item in told["not_followed"]] == ["of something unknown", "of other packages"]


def test_a_dict_of_what_is_nested_deep_is_followed(project: Project) -> None:
    made = "".join(f"    print({{name: {'[' * n}x{']' * n} for name in names}})\n" for n in range(1, 20))
    project.write(train=f"def train(names, x):\n{made}    for env in envs:\n        x.item()\n")
    assert project.run("--quiet") == 1
