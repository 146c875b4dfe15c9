"""Which lines of a change the runs execute: in threads, forked workers and processes of their own."""

import json
import sys
from pathlib import Path

import pytest

from golden.check.results import read_results
from golden.cli import main
from golden.reach.changes import Change
from golden.reach.evidence import Evidence, evidence
from golden.reach.lines import Reached
from golden.versions import told
from tests.trees import commit, write

MAIN = """\
import json
import multiprocessing
import pathlib
import subprocess
import sys
import threading

import work

if __name__ == "__main__":
    work.here(1)
    thread = threading.Thread(target=work.in_a_thread)
    thread.start()
    thread.join()
    process = multiprocessing.get_context("fork").Process(target=work.in_a_fork)
    process.start()
    process.join()
    subprocess.run([sys.executable, "-c", "import work; work.in_a_process()"], check=True)
    pathlib.Path(sys.argv[1], "log.jsonl").write_text(json.dumps({"type": "end"}) + "\\n")
"""
WORK = """\
def here(n):
    if n > 5:
        return "never"
    return [i + 0 for i in range(n)]


def in_a_thread():
    return 0


def in_a_fork():
    return 0


def in_a_process():
    return 0
"""
RUN = """\
command = ["python", "main.py", "{out}"]
budget = 2.0

[observe]
steps = false

[events]
files = "log.jsonl"
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {"main.py": MAIN, "work.py": WORK, "golden/runs/fit.toml": RUN, "golden/runs/again.toml": RUN}
    commit(write(tmp_path, files))
    return tmp_path


def test_lines_are_noted_wherever_they_run(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = WORK.replace("return 0", "return 1 - 1").replace('"never"', '"not once"').replace("i + 0", "i")
    (repository / "work.py").write_text(changed)
    (repository / "new.py").write_text("x = 1\n")
    assert main(["ab", "--base", "HEAD", "fit", "-o", "traces"]) == 0
    out = capsys.readouterr().out
    assert (
        "diff coverage: 8 of 11 changed lines that can run ran in this run (base 4 of 5, head 4 of 6)" in out
    )
    assert "did not run in base: work.py:3\n" in out
    assert "did not run in head: work.py:3\n" in out
    assert "did not run in head: new.py:1\n" in out
    noted = json.loads((repository / "traces" / "fit" / "head" / "reached.json").read_text())
    assert noted["by"] == ["coverage"]
    assert {4, 8, 12, 16} <= set(noted["files"]["work.py"])
    assert noted["files"].keys() == {"work.py", "new.py"}


def test_what_only_a_type_checker_reads_can_not_run(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flagged = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import a\n    import b\n"
    own = "import typing as t\n\nTYPE_CHECKING = False\nif TYPE_CHECKING:\n    import c\n"
    own += "if t.TYPE_CHECKING:\n    import d\n"
    (repository / "flags.py").write_text(own)
    (repository / "work.py").write_text(f"{flagged}import flags\n{WORK}")
    assert main(["ab", "--base", "HEAD", "fit"]) == 0
    out = capsys.readouterr().out
    assert (
        "diff coverage: 7 of 7 changed lines that can run ran in this run (base 0 of 0, head 7 of 7)" in out
    )


def evidence_of(folder: Path) -> Evidence:
    """The diff coverage that a command keeps beside its traces."""
    results = read_results(folder)
    assert results is not None
    assert results.evidence is not None
    return results.evidence


@pytest.mark.slow
def test_several_runs_are_told_together(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the terminal, as data, and in every report of the traces that were kept."""
    (repository / "work.py").write_text(WORK.replace('"never"', '"<b>"').replace("i + 0", "i"))
    (repository / "golden" / "runs" / "broken.toml").write_text(RUN.replace("main.py", "work.py"))
    assert main(["ab", "--base", "HEAD", "fit", "again", "broken", "-o", "kept"]) == 4
    told = "2 of 4 changed lines that can run ran in at least one of 2 runs (base 1 of 2, head 1 of 2)"
    assert f"diff coverage: {told}; nothing is known of 1 runs" in capsys.readouterr().out

    found = evidence_of(repository / "kept")
    assert (found.base, found.head, found.problem) == ("HEAD", None, "")
    assert found.after.changed == {"work.py": (3, 4)}
    assert found.after.ran == {"work.py": (4,)}
    assert [(run.name, run.known) for run in found.runs] == [
        *(("fit", True), ("again", True), ("broken", False))
    ]

    wanted = ["-o", "page.html", "-o", "text.md", "-o", "cases.xml"]
    assert main(["report", "--merge", "kept", *wanted]) == 4
    assert f"diff coverage: {told}" in capsys.readouterr().out
    assert f"diff coverage: {told}" in (repository / "text.md").read_text()
    page = (repository / "page.html").read_text()
    assert f"diff coverage: {told}" in page
    assert "did not run in head: work.py:3" in page
    cases = (repository / "cases.xml").read_text()
    assert '<skipped message="did not run: base 3, head 3" />' in cases


def test_without_the_means_it_says_so(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = repository / "blocked"
    blocker.mkdir()
    (blocker / "coverage.py").write_text("raise ImportError('not here')\n")
    monkeypatch.setenv("PYTHONPATH", str(blocker))
    (repository / "work.py").write_text(WORK.replace("i + 0", "i"))
    assert main(["ab", "--base", "HEAD", "fit"]) == 0
    told = "diff coverage: not measured: it needs the package coverage"
    assert told in capsys.readouterr().out


def test_the_script_itself_is_noted(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its functions, and what stands in none; a traceback shows the program's lines."""
    script = MAIN.replace("    work.here(1)\n", "    for n in range(2):\n        work.here(n)\n")
    script = script.replace("\n\nif __name__", "\n\ndef never():\n    return 1\n\n\nif __name__")
    (repository / "main.py").write_text(script)
    main(["ab", "--base", "HEAD", "fit"])
    out = capsys.readouterr().out
    assert "head 3 of 4)" in out
    assert "did not run in head: main.py:11\n" in out
    (repository / "main.py").write_text(MAIN + "    raise KeyError('the end')\n")
    assert main(["ab", "--base", "HEAD", "fit"]) == 3
    assert "KeyError: 'the end'" in capsys.readouterr().err


def test_what_one_run_could_not_measure_is_told_of_that_run_alone() -> None:
    since = Change("HEAD", None, ("work.py",), {}, {"work.py": frozenset([1, 3])})
    blind = (Reached({}), Reached({}, "no means"))
    seeing = (Reached({}), Reached({"work.py": frozenset([1])}))
    assert told(since, "blind", blind) == ["diff coverage: not measured: no means"]
    assert told(since, "seeing", seeing)[1:] == ["  did not run in head: work.py:3"]
    assert evidence(since, {"blind": blind, "seeing": seeing}).problem == "no means"


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("sys.settrace(lambda *_: None)", "before Python 3.12 a program with a trace function of its own"),
        (
            "import os, signal; os.fork() or os.kill(os.getpid(), signal.SIGKILL)",
            "a process that coverage traced was ended before it said what ran",
        ),
    ],
)
def test_what_coverage_can_not_see_is_said(
    repository: Path, capsys: pytest.CaptureFixture[str], code: str, problem: str
) -> None:
    if "settrace" in code and sys.version_info >= (3, 12):
        pytest.skip("coverage has sys.monitoring there")
    (repository / "main.py").write_text(MAIN + f"    {code}\n")
    assert main(["ab", "--base", "HEAD", "fit"]) == 0
    assert f"diff coverage: not measured: {problem}" in capsys.readouterr().out
