"""Outputs that look alike, and that two runs must not be called identical for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from golden.compare import Different, compare
from golden.outputs import Masks
from golden.report.text import describe
from golden.trace.trace import load_trace
from golden.trace.unstable import without_ids
from tests.golden.project import Project

RUN = 'command = ["python", "train.py", "{out}"]\nbudget = 3\n[observe]\nsteps = false\n'
SCRIPT = """
import json, os, sys, time
from pathlib import Path
out = Path(sys.argv[1])
lines, files, targets = json.loads(Path("content.json").read_text())
for line in lines:
    print(line)
print(f"elapsed {time.time() % 7:.2f} s, on {time.strftime('%Y-%m-%d')}")
print(f"took {time.time_ns() % 99} ms")
sys.stdout.flush()
os.write(1, files.pop("bytes").encode("latin-1") + b"\\n")
for name, text in files.items():
    (out / name).write_text(text)
for name, target in targets.items():
    os.symlink(target.replace("{out}", str(out)), out / name)
"""
LONG = "a" * 150_000
LINES = [
    ("took 12 steps", "took 13 steps"),
    ("time: 12 epochs to go", "time: 13 epochs to go"),
    ("data of 2024-01-01", "data of 2024-01-02"),
    ("state hash 0xdeadbeef", "state hash 0xdeadbeee"),
]
FILES = [
    ("bytes", "caf\xe9", "caf\xe8"),
    ("nested.json", '{"a.b": 1}', '{"a": {"b": 1}}'),
    ("twice.json", '{"a": 1, "a": 2}', '{"a": 3, "a": 2}'),
    ("limits.json", '{"time_limit": 0.25}', '{"time_limit": 0.5}'),
    ("constant.json", '{"time_constant": 0.25}', '{"time_constant": 0.5}'),
    ("eta.json", '{"eta_min": 0.25}', '{"eta_min": 0.5}'),
    ("states.json", f'[{{"a": 1}}, "{LONG}"]', '[{"a": 1}]'),
    ("columns.csv", "loss,loss\n1,2\n", "loss,loss\n3,2\n"),
    ("long.csv", f"x,y\n{LONG},1\n", f"x,y\n{LONG},2\n"),
]
LINKS = [("last", "nested.json", "twice.json"), ("gone", "a.txt", "b.txt")]


def record(project: Project, name: str, side: int) -> Path:
    lines = [pair[side] for pair in LINES]
    files = {path: pair[side] for path, *pair in FILES}
    links = {path: pair[side] for path, *pair in LINKS}
    (project.root / "content.json").write_text(json.dumps([lines, files, links]))
    project.script(SCRIPT)
    project.run_file(RUN)
    return project.record(name)


def test_each_is_told_apart(project: Project) -> None:
    base = record(project, "base", 0)
    again = project.golden("diff", base, record(project, "again", 0))
    assert again.code == 0, again
    found = compare(load_trace(base), load_trace(record(project, "changed", 1)))
    assert isinstance(found, Different)
    heads = [describe(divergence)[0] for divergence in (found.first, *found.rest)]
    for name, *_ in (*FILES[1:], *LINKS):
        assert any(head.startswith(f"file {name}") for head in heads), (name, heads)
    assert any(head.startswith("file states.json: field value.1 is missing (was ") for head in heads), heads
    assert max(map(len, heads)) < 500
    (stdout,) = [d for d in (found.first, *found.rest) if describe(d)[0].startswith("stdout, line 1")]
    assert describe(stdout)[-1] == f"{len(LINES) + 1} lines or rows of it differ"


def test_one_link_written_in_two_ways_is_one(project: Project) -> None:
    base = record(project, "base", 0)
    text = (project.root / "content.json").read_text()
    (project.root / "content.json").write_text(text.replace('"a.txt"', '"{out}/a.txt"'))
    assert project.golden("diff", base, project.record("absolute")).code == 0


def test_a_golden_knows_how_fields_are_nested(project: Project) -> None:
    script = "import sys; open(sys.argv[1] + '/a.json', 'w').write('{\"a.b\": 1}')"
    project.script(script)
    project.run_file(RUN)
    assert project.golden("record", "train", "--update").code == 0
    assert project.golden("verify", "train").code == 0
    project.script(script.replace('{"a.b": 1}', '{"a": {"b": 1}}'))
    result = project.golden("verify", "train")
    assert (result.code, "file a.json: field (how its fields are nested)" in result.out) == (1, True)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("at 0xdeadbeef", "at <address>"),
        ("into /tmp/tmpab12cd34/tmpab12cd34.pt", "into <temporary>"),
        ("into /tmp/run-x1y2z3w4.pt", "into <temporary>"),
    ],
)
def test_what_looks_like_a_time_still_is_one(line: str, kept: str) -> None:
    assert without_ids(Masks({}).text(line)) == kept
    assert Masks({}).is_unstable("timers.step_seconds") is False
    assert Masks({}).is_unstable("timers.load_time")
    assert Masks({}).is_unstable("elapsed")
