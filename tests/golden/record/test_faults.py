"""What goes wrong around a run: signals, crashes of one side, damaged traces, names that break lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from golden.trace.errors import UnusableInput
from golden.trace.trace import load_trace
from tests.golden.project import PLAIN, PLAIN_RUN, RUN, Project
from tests.golden.traces import write_trace
from tests.trees import commit, git, write

REPOSITORY = Path(__file__).parents[3]


def alive(mark: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if mark in text and "-m golden" not in text:
            found.append(text)
    return found


@pytest.mark.parametrize(("number", "command"), [(signal.SIGTERM, "verify"), (signal.SIGHUP, "record")])
def test_signal_ends_the_program_too(
    project: Project, tmp_path: Path, number: signal.Signals, command: str
) -> None:
    project.plain("open(sys.argv[1] + '/../begun', 'w').close(); time.sleep(60)", run=PLAIN_RUN)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    arguments = [command, "train", "--root", str(project.root)]
    arguments += ["-o", str(tmp_path / "out")] if command == "record" else []
    process = subprocess.Popen(
        [sys.executable, "-m", "golden", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(scratch)},
        stderr=subprocess.PIPE,
        text=True,
        # Under nohup a signal to hang up is ignored, by children too.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while not (scratch / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(str(scratch))
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert f"golden: ended by {number.name}; its programs too" in said
    assert alive(str(scratch)) == []
    assert [path.name for path in scratch.iterdir()] == ["begun"]
    assert not (tmp_path / "out").exists()


def test_crash_in_ab_names_its_side(project: Project) -> None:
    project.plain("if step == 1 and '--crash' in sys.argv: raise SystemExit('boom')")
    project.run_file(PLAIN_RUN + "\n[variants.base]\nargs = { crash = true }\n")
    result = project.golden("ab", "train")
    assert result.code == 3
    assert "base (variant base) failed: run train.base: exit status 1" in result.err
    assert "boom; head (working tree) ran to its end" in result.err


def test_data_that_git_does_not_keep(project: Project) -> None:
    project.plain("json.loads(open('data/numbers.json').read())")
    commit(write(project.root, {".gitignore": "data\n", "data/numbers.json": "[1]"}))
    ab = ("ab", "train", "--base", "HEAD")
    result = project.golden(*ab)
    assert result.code == 3
    assert "base (HEAD) failed: run train: exit status 1" in result.err
    assert "head (working tree) ran to its end; a tree of another version holds" in result.err
    project.run_file(PLAIN_RUN + '\n[data]\npaths = ["data"]\n')
    assert project.golden(*ab).code == 0
    assert (project.root / "data" / "numbers.json").exists()
    # What only the working tree lacks is no matter of committed files.
    project.plain("open('nothing')", PLAIN_RUN + '\n[data]\npaths = ["data"]\n')
    result = project.golden(*ab)
    assert (
        result.code,
        "head (working tree) failed: " in result.err,
        "committed files only" in result.err,
    ) == (3, True, False)
    project.script(PLAIN.replace("range(3)", "range(1)"))
    result = project.golden("record", "train", "-o", project.root / "one")
    assert "train: 1 event, 0 optimizer steps -> " in result.out
    project.run_file(PLAIN_RUN + '\n[data]\npaths = ["gone"]\n')
    assert "[data] paths: " in project.golden(*ab).err


def test_of_a_folder_that_git_keeps_a_part_of_the_rest_is_shared(project: Project) -> None:
    """As where a placeholder keeps an empty folder; a new module in it is not given to the base."""
    run = PLAIN_RUN + '\n[data]\npaths = ["data"]\n'
    project.plain(
        "import json; json.load(open('data/raw/numbers.json')); json.load(open('data/all.json'))", run
    )
    data = {"raw/.keep": "", "new/.keep": "", "raw/numbers.json": "[1]", "all.json": "[2]"}
    write(project.root / "data", data)
    commit(write(project.root, {".gitignore": "*.json\n__pycache__\n"}))
    ab = ("ab", "train", "--base", "HEAD")
    result = project.golden(*ab)
    assert result.code == 0, result
    (project.root / "data" / "module.py").write_text("")
    project.plain("import data.module", run)
    git(project.root, "commit", "-qm", "without the module", "train.py")
    result = project.golden(*ab)
    assert "base (HEAD) failed: run train: exit status 1" in result.err
    assert "No module named 'data.module'" in result.err


def test_places_in_a_command(project: Project) -> None:
    project.plain(
        "assert sys.argv[2:] == ['--root=' + os.getcwd(), '--data=' + sys.argv[2][7:] + '/d']",
        run=PLAIN_RUN.replace('"{out}"', '"{out}", "--root={root}", "--data={data}"'),
    )
    (project.root / "d").mkdir()
    record = ("record", "train", "-o", project.root / "out")
    assert "needs a data folder: give --data DIR" in project.golden(*record).err
    project.run_file((project.root / "golden/runs/train.toml").read_text() + "[data]\npaths = []\n")
    result = project.golden(*record, "--data", project.root / "d")
    assert result.code == 0, result


@pytest.mark.slow
def test_module_path_of_a_run_is_put_behind_the_observer(project: Project) -> None:
    (project.root / "more").mkdir()
    project.script("import extra\n" + (project.root / "train.py").read_text())
    project.script("NUMBER = 1\n", "more/extra.py")
    project.run_file(RUN.replace("[events]", '[environment]\nPYTHONPATH = "more"\n\n[events]'))
    project.record("out")


def test_trace_without_its_processes_is_refused(tmp_path: Path) -> None:
    one = write_trace(tmp_path / "one")
    head = json.loads((one / "trace.json").read_text())
    for said in ([], ["rank-0", "rank-1"]):
        (one / "trace.json").write_text(json.dumps({**head, "processes": said}))
        with pytest.raises(UnusableInput, match="is damaged: it says that it has"):
            load_trace(one)
    (one / "trace.json").write_text(json.dumps(head))
    lines = (one / "rank-0" / "steps.jsonl").read_text().splitlines()
    (one / "rank-0" / "steps.jsonl").write_text("\n".join(lines[:-2] + lines[-1:]))
    with pytest.raises(UnusableInput, match="says 12 steps, and has 11"):
        load_trace(one)


def test_names_that_would_break_a_line_are_spelled_out(project: Project, tmp_path: Path) -> None:
    kind = "a\n::error::forged\x1b[31m\u202e"
    left = write_trace(tmp_path / "a", events=[(kind, None, {"n": 1})])
    right = write_trace(tmp_path / "b", events=[(kind, None, {"n": "\u2028::error::"})])
    said = project.golden("diff", left, right).out
    assert r"event 0 (a\x0a::error::forged\x1b[31m\u202e)" in said
    assert not any(line.startswith("::") for line in said.splitlines())
    assert not {"\x1b", "\u202e", "\u2028"} & set(said)


def test_list_shows_descriptions_as_they_are(project: Project) -> None:
    project.run_file('description = "closes [/x] and [red]"\n' + PLAIN_RUN)
    result = project.golden("list")
    assert result.code == 0
    assert "closes [/x] and [red]" in result.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (('field = "env"', 'field = "data.env"'), "[env] field: no event has a number in data.env"),
        (('module = "Sequential"', 'module = "Host"'), "[env] module: no model of class Host takes a step"),
        (("[events]", '[events]\ntype = "kind"'), "[events] type: no event has the field kind"),
    ],
)
def test_table_that_fits_nothing_is_refused(project: Project, change: tuple[str, str], expected: str) -> None:
    project.run_file(RUN.replace(*change))
    result = project.golden("doctor", "train")
    assert (result.code, expected in result.err) == (2, True), result


def test_far_numbers_are_told_as_a_share(project: Project, tmp_path: Path) -> None:
    left = write_trace(tmp_path / "a", events=[("m", None, {"near": 1.0, "far": 2.0})])
    right = write_trace(tmp_path / "b", events=[("m", None, {"near": 1.0000001192092896, "far": 3.0})])
    said = project.golden("diff", left, right).out
    assert "field far: 2.0 -> 3.0 (+50%); field near: 1.0 -> 1.0000001192092896 (1 ulp)" in said


@pytest.mark.slow
def test_run_without_an_end_ends_after_max_steps(project: Project) -> None:
    script = (project.root / "train.py").read_text().replace("range(steps)", "iter(int, 1)")
    project.script(script)
    project.run_file("max_steps = 7\n" + RUN)
    trace = load_trace(project.record("once"))
    assert [len(process.steps) for process in trace.processes] == [7]
    result = project.golden("diff", trace.folder, project.record("twice"))
    assert (result.code, "7 optimizer steps" in result.out) == (0, True), result


DRAWS = """
import multiprocessing, numpy

def draw():
    print(numpy.random.default_rng().integers(10**9), flush=True)

if __name__ == "__main__":
    draw()
    for _ in range(2):
        child = multiprocessing.get_context("fork").Process(target=draw)
        child.start(), child.join()
"""


def test_generators_that_numpy_seeds_repeat_and_differ_between_processes(project: Project) -> None:
    project.script(DRAWS)
    project.run_file('command = ["python", "train.py"]\nbudget = 5\n\n[observe]\nsteps = false\n')
    first, second = project.record("once"), project.record("twice")
    assert project.golden("diff", first, second).code == 0
    assert len(set((first / "stdout.txt").read_text().split())) == 3
