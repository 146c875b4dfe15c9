"""One step more on one side: it is named, and what follows it is compared with what it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from golden.compare import Different, compare
from golden.compare.events import EventChange
from golden.compare.sides import StepCount
from golden.compare.steps import StepDivergence
from golden.report.text import describe
from golden.trace.events import Event
from golden.trace.kinds import RANDOM_STATE
from golden.trace.trace import load_trace
from tests.golden.project import Project


@pytest.mark.slow
def test_the_headline_is_one_step_more(project: Project, reference: Callable[[], Path]) -> None:
    project.edit("BEFORE STEP", "random.random()\n            if step == 2 and env == 1: optimizer.step()")
    text = (project.root / "train.py").read_text()
    project.script(text.replace("import json,", "import random, json,"))
    right = project.record("right")
    project.script(text.replace("import json,", "import random, json,").replace("env == 1:", "env == 9:"))
    left = project.record("left")
    traces = load_trace(left), load_trace(right)
    found = compare(*traces)
    assert isinstance(found, Different)
    first = found.first
    assert isinstance(first, StepCount)
    assert (first.stream.env, first.left, first.right, first.number, first.between) == (1, 6, 7, 8, True)
    # The draws before each step are those of the step that it belongs to.
    assert RANDOM_STATE not in {d.kind_title for d in found.rest}
    assert {d.stream.env for d in found.rest if isinstance(d, StepDivergence)} == {1}
    assert [(e.env, e.first_step) for e in found.envs if not e.identical] == [(1, 3)]
    out = project.golden("diff", left, right).out
    assert "first divergence: 1 step more of env 1, Sequential in head, at step 8 overall" in out
    back = project.golden("diff", right, left).out
    assert "first divergence: 1 step more of env 1, Sequential in base, at step 8 overall" in back
    # Written after that step, and after one that both sides took: they are dated by the steps of one side.
    ours = Event("update", 1, {"passes": 1}, (8, 0, 0)), Event("late", 1, {}, (8, 1, 0))
    theirs = (Event("update", 1, {"passes": 2}, (9, 0, 0)),)
    found = compare(replace(traces[0], events=ours), replace(traces[1], events=theirs))
    assert isinstance(found, Different)
    heads = [d for d in (found.first, *found.rest) if isinstance(d, StepCount | EventChange)]
    assert [d.kind if isinstance(d, EventChange) else "more" for d in heads] == ["more", "update", "late"]
    assert describe(heads[1])[-2] == "written before step 8 overall"
