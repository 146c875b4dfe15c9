"""Modules that no optimizer owns, generators of the program's own, flags: seen wherever they differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.compare import Different, Identical, compare
from golden.compare.divergence import Divergence
from golden.compare.living import KIND, compare_living, unmatched
from golden.compare.sides import sides
from golden.record.occasions import is_due
from golden.trace.trace import Trace
from tests.golden.project import Project

PROGRAM = """
import copy, pickle, random, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np, torch
from torch import nn
from torch.utils.data import DataLoader

class Scaled(nn.Linear):
    amax = 1.0
    def get_extra_state(self):
        scales = torch.ones(2) * self.amax
        return {"amax": self.amax, "scales": scales, "made_at": time.time(), "who": object()}
    def set_extra_state(self, state):
        self.amax = state["amax"]

def main(out):
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    target = copy.deepcopy(model)
    head = nn.Module()
    head.inner = Scaled(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    own = torch.Generator().manual_seed(3), np.random.default_rng(4), random.Random(5)
    own = *own, np.random.RandomState(6)
    unseeded = random.Random(), np.random.default_rng()
    assert isinstance(own[0], torch.Generator) and isinstance(torch.default_generator, torch.Generator)
    assert isinstance(own[1], np.random.Generator) and not isinstance(own[1], np.random.RandomState)
    for step in range(3):
        model(torch.ones(2, 4) * step).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    # BEFORE FILE
    (out / "a.txt").write_text("done")
    del optimizer
    for x in DataLoader([1.0, 2.0], 2, generator=own[0]):
        pass
    # LAST
main(Path(sys.argv[1]))
"""
RUN = """
command = ["python", "train.py", "{out}"]
budget = 3
[outputs]
unstable = ["made_*"]
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Trace]:
    from golden.record import find_run, record_run

    folder = tmp_path_factory.mktemp("living")
    (folder / "golden" / "runs").mkdir(parents=True)
    known: dict[tuple[str, ...], Trace] = {}

    def record(before_file: str = "", last: str = "") -> Trace:
        key = (before_file, last)
        if key not in known:
            (folder / "golden" / "runs" / "train.toml").write_text(RUN)
            text = PROGRAM.replace("# BEFORE FILE", before_file).replace("# LAST", last)
            (folder / "train.py").write_text(text)
            known[key] = record_run(find_run("train", folder), root=folder, out=folder / str(len(known)))
        return known[key]

    return record


def _living(found: object) -> Divergence:
    assert isinstance(found, Different), found
    (state,) = [d for d in (found.first, *found.rest) if d.kind == KIND]
    return state


def test_each_kind_is_seen_at_the_next_file(recorded: Callable[..., Trace]) -> None:
    changed = recorded(
        "target[0].weight.data.mul_(2); target[1].running_mean.add_(1); target.eval(); "
        "head.inner.bias.requires_grad_(False); head.inner.amax = 2.0; "
        "own[0].seed; torch.rand(1, generator=own[0]); own[1].random(); own[2].random(); own[3].rand()"
    )
    found = compare(recorded(), changed)
    state = _living(found)
    assert isinstance(found, Different)
    assert found.first is state
    assert state.number == 3
    assert " at the 1st write of a.txt, before step 3 overall and 5 others: " in state.lines[0]
    assert state.lines[-1] == "last identical: step 2"
    told = "\n".join(state.lines)
    for line in (
        "module Sequential#1 at the 1st write of a.txt",
        "buffer: 1 of 3 differ\n  1.running_mean\n",
        "training flag: 3 of 3 differ\n  (the module itself): True -> False\n",
        "module Module#0: requires_grad inner.bias: True -> False\n",
    ):
        assert line in told, (line, told)
    titles = [line.partition(": ")[0] for line in state.lines]
    made = [title.partition(" made at train.py:")[0] for title in titles if "generator" in title]
    assert sorted(made) == ["Python generator", "numpy generator", "numpy generator", "torch generator"]


@pytest.mark.slow
def test_weights_changed_when_their_optimizer_is_gone(recorded: Callable[..., Trace]) -> None:
    state = _living(compare(recorded(), recorded(last="model[0].bias.data.add_(1); own[1].random()")))
    assert state.lines[0] == "module Sequential#0 at the end: parameter 0.bias"


@pytest.mark.slow
def test_how_long_something_lives_is_no_difference(recorded: Callable[..., Trace]) -> None:
    longer = recorded(
        "kept = copy.deepcopy(target), np.random.default_rng(8)",
        "pool = ThreadPoolExecutor(1); pool.submit(int).result(); (out / 'a.txt').write_text('done'); "
        "__import__('tempfile').TemporaryFile().close()",  # which draws its name
    )
    found = compare(recorded(), longer)
    gone = longer.processes[0].looks[-1].gone.keys() ^ recorded().processes[0].looks[-1].gone.keys()
    assert gone <= {module.label for module in longer.processes[0].looks[-1].modules}
    # The pool that is left behind ends when the interpreter does, and no value or file differs.
    assert isinstance(found, Identical)
    told = " ".join(found.compared.uncompared)
    assert "what lived on one side only (Sequential#2, numpy generator made at" in told
    assert "own generators while threads may draw from them" in told
    assert re.search(r"\b2 generators made without a seed \(at [\w/]+\.py:\d+ main\)", told)


@pytest.mark.slow
def test_what_went_just_before_the_end_is_not_what_the_other_side_has_then(
    recorded: Callable[..., Trace],
) -> None:
    process = recorded().processes[0]
    last = process.looks[-1]
    assert "Sequential#1" in {module.label for module in process.looks[-2].modules}
    changed = tuple(replace(m, training="0") if m.label == "Sequential#1" else m for m in last.modules)
    later = replace(process, looks=(*process.looks[:-1], replace(last, modules=changed)))
    assert compare_living(sides(process, later)).divergences
    # It goes with the function that made it; if the other side keeps it, that is what it is at the end, and
    # if it went earlier there, that is what it was then.
    assert "Sequential#1" in last.gone
    others = {label: look for label, look in last.gone.items() if label != "Sequential#1"}
    for gone in (others, {**others, "Sequential#1": process.looks[0].name}):
        there = replace(last, modules=changed, gone=gone)
        found = compare_living(sides(process, replace(process, looks=(*process.looks[:-1], there))))
        assert not found.divergences
        assert found.compared.uncompared[-1] == "what lived on one side only (Sequential#1)"


@pytest.mark.slow
def test_looks_of_one_side_only_are_named_as_not_compared(recorded: Callable[..., Trace]) -> None:
    process = recorded().processes[0]
    found = compare_living(sides(process, replace(process, looks=())))
    assert not found.divergences
    assert found.compared.uncompared == ("modules and own generators (one side was recorded without them)",)


@pytest.mark.slow
def test_a_module_that_can_not_be_looked_at_ends_no_program(recorded: Callable[..., Trace]) -> None:
    broken = recorded(
        "head.register_buffer('odd', torch.ones(1)); head.inner.__dict__['training'] = None",
        "own = pickle.loads(pickle.dumps(own)); assert isinstance(own[1], np.random.Generator); "
        "pickle.dumps([torch.save, torch.manual_seed, np.random.seed, np.random.default_rng, random.seed])",
    )
    found = compare(recorded(), broken)
    assert "modules and own generators (TypeError as they were looked at)" in found.compared.uncompared


@pytest.mark.slow
def test_a_golden_knows_what_lives(project: Project) -> None:
    project.script(PROGRAM)
    project.run_file(RUN)
    assert project.golden("record", "train", "--update", "--root", project.root).code == 0
    project.script(PROGRAM.replace("# LAST", "target[0].weight.data.mul_(2)"))
    result = project.golden("verify", "train", "--root", project.root)
    assert result.code == 1, result
    assert "first divergence: module 2 Sequential at the end: state" in result.out


def test_occasions_grow_rare(tmp_path: Path) -> None:
    taken = [number for number in range(100_000) if is_due(number)]
    assert taken[:18] == [*range(17), 18]
    assert all(later <= earlier * 1.2 for earlier, later in pairwise(taken[16:]))
    assert len(taken) < 130
    steps = [number for number in range(100_000) if is_due(number, 2)]
    assert steps[:10] == [*range(9), 10]
    assert set(steps) < set(taken)
    assert len(steps) < 70


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_what_has_no_equal_is_all_that_is_left(left: list[int], right: list[int]) -> None:
    lonely, rest = unmatched(left, right, lambda x: x)
    assert Counter(lonely) == Counter(left) - Counter(right)
    assert Counter(rest) == Counter(right) - Counter(left)


def test_a_generator_that_a_package_makes_is_named_by_its_line_there(project: Project) -> None:
    package = project.root / "site-packages" / "dice"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import random\ndie = random.Random()\n")
    project.edit("AFTER STEP", "sys.path.append('site-packages'); import dice")
    result = project.golden("doctor", "train", "--root", project.root)
    assert result.code == 0
    assert "1 generator made without a seed (at site-packages/dice/__init__.py:2 " in result.out, result
