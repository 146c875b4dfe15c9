"""Numbers that a run file lets be a few ulps apart: how far, which, and that it is always said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from golden.compare import Different, Identical, compare
from golden.compare.scope import compare_within
from golden.compare.values import distance
from golden.trace.events import Event
from golden.trace.golden import digested
from golden.trace.numbers import hex_ulps
from golden.trace.same import Part, Same
from golden.trace.tolerance import Kind, Tolerance
from golden.trace.trace import Trace, load_trace
from tests.golden.project import Project
from tests.golden.traces import about, write_trace

SCRIPT = """
import json, math, sys
value = 0.1
for _ in range(MOVED):
    value = math.nextafter(value, 1.0)
with open(sys.argv[1] + "/events.jsonl", "w") as log:
    for step in range(3):
        record = {"type": "step", "env": 0, "step": step, "name": "x"}
        log.write(json.dumps(record | {"loss": {"mean": value if step == 1 else 0.1}}) + "\\n")
"""
RUN = """
command = ["python", "train.py", "{out}"]
budget = 1

[events]
files = "events.jsonl"

[env]
field = "env"

[observe]
steps = false

[variants.base]
command = ["python", "before.py", "{out}"]

[same.base]
says = "nothing has changed"
variants = ["base"]
what = ["events", "counts"]

[[tolerance]]
field = "loss.mean"
ulps = 3
reason = "a sum in another order"
"""
SAID = "equal within 3 ulps: event field loss.mean (1 value differs by up to 3 ulps): a sum in another order"


@pytest.fixture
def moved(project: Project) -> Project:
    """A project with a golden; `train.py` has moved by three ulps since, `before.py` has not."""
    project.run_file(RUN)
    project.script(SCRIPT.replace("MOVED", "0"))
    project.script(SCRIPT.replace("MOVED", "0"), "before.py")
    assert project.golden("record", "train", "--update").code == 0
    project.record("before")
    project.script(SCRIPT.replace("MOVED", "3"))
    return project


def test_every_command_says_what_passed(moved: Project) -> None:
    result = moved.golden("verify")
    assert result.code == 0, result
    assert result.out.splitlines()[:2] == [
        "train: equal within tolerance (3 events, 0 optimizer steps, 0 tensors (0 B), 0 scalars, 0 random "
        "states, 0 host reads)",
        SAID,
    ]
    assert result.out.splitlines()[2].startswith("train, base: holds for train.base (3 events")
    assert result.out.splitlines()[3] == SAID

    result = moved.golden("ab", "train")
    assert (result.code, SAID in result.out) == (0, True)
    assert "equal within tolerance: train, base (variant base) and head (working tree)" in result.out

    shard = moved.root / "shard"
    assert moved.golden("verify", "-o", shard).code == 0
    result = moved.golden("report", "--merge", shard, "-o", moved.root / "merged.md")
    assert result.code == 0, result
    assert "# golden: equal within tolerance" in (moved.root / "merged.md").read_text()

    after = moved.record("after")
    result = moved.golden("diff", moved.root / "before" / "train", after)
    assert (result.code, SAID in result.out) == (0, True)

    files = {name: moved.root / name for name in ("page.html", "page.md", "junit.xml")}
    options = [part for file in files.values() for part in ("-o", file)]
    result = moved.golden("report", moved.root / "before", moved.root / "after", *options)
    assert result.code == 0, result
    page = files["page.html"].read_text()
    assert "Equal within tolerance" in page
    assert "a sum in another order" in page
    assert SAID in files["page.md"].read_text()
    assert "<failure" not in files["junit.xml"].read_text()


def test_one_ulp_more(moved: Project) -> None:
    moved.script(SCRIPT.replace("MOVED", "4"))
    result = moved.golden("verify")
    assert result.code == 1
    changed = "first divergence: event 1 (step) of env 0: field loss.mean: "
    assert f"{changed}0.1 -> 0.10000000000000006 (4 ulps)" in result.out
    # The property compares the run with what it was.
    assert f"{changed}0.10000000000000006 -> 0.1 (4 ulps)" in result.out
    assert "equal within" not in result.out
    assert moved.golden("ab", "train").code == 1
    moved.record("after")
    assert moved.golden("diff", moved.root / "before", moved.root / "after").code == 1


def test_another_change_beside_a_tolerated_one(moved: Project) -> None:
    moved.script(SCRIPT.replace("MOVED", "3").replace('"name": "x"', '"name": "y" if step == 2 else "x"'))
    result = moved.golden("verify")
    assert result.code == 1
    assert 'first divergence: event 2 (step) of env 0: field name: "y" -> "x"' in result.out
    # The golden and the property.
    assert (result.out.count("different: "), result.out.count(SAID)) == (2, 2)


def test_tolerance_after_the_golden(moved: Project) -> None:
    """Another limit asks for another golden, other words for the reason don't."""
    moved.run_file(RUN.replace("a sum in another order", "for the sake of speed"))
    assert moved.golden("verify").code == 0
    moved.run_file(RUN.replace("ulps = 3", "ulps = 4"))
    result = moved.golden("verify")
    assert (result.code, "is of another version of run file train" in result.out) == (2, True)


def test_tolerance_that_names_nothing(moved: Project) -> None:
    for field in ("los", "loss.max", "step", "name"):
        moved.run_file(RUN.replace("loss.mean", field))
        message = f": [[tolerance]] of events {field} names no floating-point number of the run"
        for command in ("verify", "doctor", "ab"):
            result = moved.golden(command, "train")
            assert (result.code, message in result.out + result.err) == (2, True), result


def test_tensors_in_a_golden(moved: Project) -> None:
    moved.script(SCRIPT.replace("MOVED", "0"))
    moved.run_file(RUN.replace('field = "loss.mean"', 'of = "params"\nfield = "*"'))
    message = (
        "tolerance of params *: a golden keeps digests of tensors, which have no distance; compare two "
        "versions with `golden ab train --base REF`"
    )
    for argv in (("verify",), ("record", "train", "--update")):
        result = moved.golden(*argv)
        assert (result.code, message in result.out + result.err) == (4, True), result


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("ulps = 3", "ulps = 0"), "tolerance.0.ulps: Input should be greater than or equal to 1"),
        (("ulps = 3\n", ""), "tolerance.0.ulps: is missing"),
        (('reason = "a sum in another order"\n', ""), "tolerance.0.reason: is missing"),
        (('"a sum in another order"', '" "'), "tolerance.0.reason: say why a difference there is no error"),
        (("ulps = 3", "ulps = 3\nof = 'rng'"), "tolerance.0.of: rng are equal or not, they have no distance"),
        (("ulps = 3", "ulps = 3\nof = 'pixels'"), "tolerance.0.of: Input should be 'events', 'loss'"),
        (("ulps = 3", "ulps = 3\nrelative = 0.1"), "unknown key tolerance.0.relative"),
        (('[events]\nfiles = "events.jsonl"\n', ""), "tolerance.0: the run has no [events] table"),
    ],
)
def test_mistakes_in_run_files(project: Project, change: tuple[str, str], message: str) -> None:
    project.run_file(RUN.replace(*change))
    result = project.golden("list")
    assert (result.code, message in result.err) == (2, True), result


def _trace(values: Sequence[float], tolerances: Sequence[Tolerance]) -> Trace:
    events = tuple(Event("step", None, {"values": [value]}) for value in values)
    return Trace(Path(), about(tolerances), events, ())


def _tolerance(of: Kind, field: str, ulps: int) -> Tolerance:
    return Tolerance(of=of, field=field, ulps=ulps, reason="because")


@given(
    value=st.floats(min_value=1e-300, max_value=1e300),
    moved=st.integers(0, 6),
    limit=st.integers(1, 5),
)
def test_as_far_as_allowed_and_no_farther(value: float, moved: int, limit: int) -> None:
    other = value
    for _ in range(moved):
        other = math.nextafter(other, math.inf)
    given_ = [_tolerance("events", "values.*", limit)]
    found = compare(_trace([1.0, value], given_), _trace([1.0, other], given_))
    assert isinstance(found, Identical) is (moved <= limit)
    if isinstance(found, Identical):
        assert [(one.values, one.ulps) for one in found.tolerated] == ([(1, moved)] if moved else [])


@pytest.mark.parametrize(
    ("left", "right", "apart"),
    [
        (0.0, -0.0, 1),
        (5e-324, -0.0, 2),
        (math.nan, math.nan, 0),
        (math.nan, 1.0, None),
        (math.inf, math.inf, 0),
        (math.inf, 1.7976931348623157e308, None),
        (1, 1.0, None),
    ],
)
def test_numbers_that_are_special(left: float, right: float, apart: int | None) -> None:
    for limit in (1, 2):
        given_ = [_tolerance("events", "values.*", limit)]
        found = compare(_trace([1.0, left], given_), _trace([1.0, right], given_))
        assert isinstance(found, Identical) is (apart is not None and apart <= limit)


def test_tensors_that_are_special() -> None:
    for left, right, ulps in (
        (torch.tensor([1.0, 0.0]), torch.tensor([1.0, -0.0]), 1),
        (torch.tensor([1.0, 0.0]), torch.tensor([1.0000001192092896, math.nan]), None),
        (torch.tensor([math.inf]), torch.tensor([3.4028234663852886e38]), None),
        (torch.tensor([1]), torch.tensor([2]), None),
        (torch.tensor([1.0], dtype=torch.bfloat16), torch.tensor([1.0078125]).bfloat16(), 1),
    ):
        apart = distance(left, right)
        assert apart is not None
        assert apart.ulps == ulps
    assert hex_ulps((0.0).hex(), (-0.0).hex()) == 1


def test_tolerance_of_one_side_is_none() -> None:
    given_ = [_tolerance("events", "values.*", 3)]
    other = math.nextafter(0.1, 1.0)
    assert isinstance(compare(_trace([0.1], given_), _trace([other], given_)), Identical)
    assert isinstance(compare(_trace([0.1], given_), _trace([other], [])), Different)
    assert isinstance(compare(_trace([0.1], []), _trace([other], given_)), Different)


ULP = 2.0**-24
KINDS: tuple[Kind, ...] = ("buffers", "grads", "params", "state")


@pytest.mark.parametrize(
    ("factor", "what", "passes"),
    [
        (1 + 1.2 * ULP, "final", True),
        # Too far; and digests of the steps before have no distance.
        (1 + 3 * ULP, "final", False),
        (1 + 1.2 * ULP, "steps", False),
    ],
)
def test_final_state_within_tolerance(tmp_path: Path, factor: float, what: Part, passes: bool) -> None:
    allowed = [_tolerance(kind, "body.*", 1) for kind in KINDS]
    left = load_trace(write_trace(tmp_path / "left", final=True, tolerances=allowed))
    changed = write_trace(tmp_path / "right", final=True, change={(1, 2): factor}, tolerances=allowed)
    found = compare_within(left, load_trace(changed), Same(says="", variants=("other",), what=(what,)))
    assert isinstance(found, Identical) is passes
    if isinstance(found, Identical):
        assert {(one.tolerance.of, one.values, one.ulps) for one in found.tolerated} >= {("params", 1, 1)}


def test_event_added_beside_tolerated_ones() -> None:
    given_ = [_tolerance("events", "values.*", 2)]
    moved = [math.nextafter(value, 9.0) for value in (0.1, 0.2, 0.3)]
    extra = _trace([moved[0], 7.0, *moved[1:]], given_)
    extra = Trace(
        extra.folder, extra.about, (*extra.events[:1], Event("other", None, {}), *extra.events[2:]), ()
    )
    found = compare(_trace([0.1, 0.2, 0.3], given_), extra)
    assert isinstance(found, Different)
    assert (found.first.lines, found.rest) == (["event 1 (other) is extra in head"], ())
    assert [(one.values, one.ulps) for one in found.tolerated] == [(3, 1)]


@pytest.mark.parametrize("limit", [1, 3])
def test_losses_in_a_golden(tmp_path: Path, limit: int) -> None:
    """The weights are as before; a loss has moved by two ulps."""
    left = load_trace(write_trace(tmp_path, tolerances=[_tolerance("loss", "Host", limit)]))
    (process,) = left.processes
    moved = torch.tensor(float.fromhex(process.steps[7].losses[0]))
    for _ in range(2):
        moved = torch.nextafter(moved, torch.tensor(99.0))
    steps = [replace(s, losses=(moved.item().hex(),)) if s.number == 7 else s for s in process.steps]
    right = replace(left, processes=(replace(process, steps=tuple(steps)),))
    found = compare(digested(left), digested(right))
    if limit == 3:
        assert isinstance(found, Identical)
        assert [(one.values, one.ulps) for one in found.tolerated] == [(1, 2)]
    else:
        assert isinstance(found, Different)
        assert found.first.kind == "loss"


@pytest.mark.parametrize(("moved", "verdict"), [(1, Identical), (2, Different)])
def test_fields_in_a_golden(moved: int, verdict: type) -> None:
    """A golden keeps the numbers that have a tolerance, and a digest of the others."""
    other = 0.1
    for _ in range(moved):
        other = math.nextafter(other, 1.0)
    sides = [_trace([value], [_tolerance("events", "values.0", 1)]) for value in (0.1, other)]
    assert isinstance(compare(*map(digested, sides)), verdict)
