"""The comparing itself, on values made for it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from golden.check.localize import step_of
from golden.compare.compare import different
from golden.compare.divergence import Divergence, KindChange
from golden.compare.events import compare_events
from golden.compare.fields import compare_fields
from golden.compare.final_states import final_state
from golden.compare.living import living_state
from golden.compare.outcome import Compared
from golden.compare.outputs import compare_outputs
from golden.compare.sides import sides
from golden.compare.steps import told_step
from golden.compare.values import distance
from golden.trace.events import Event, Moment
from golden.trace.living import Look
from golden.trace.numbers import exact, ulps
from golden.trace.outputs import Output
from golden.trace.paths import Patterns
from golden.trace.streams import Stream
from golden.trace.trace import Layout, Step, Trace, load_trace
from tests.golden.traces import about, write_trace

KINDS = st.sampled_from(["step", "epoch", "update"])
SEQUENCES = st.lists(st.tuples(KINDS, st.integers(0, 2)), min_size=1, max_size=25).map(
    lambda items: [Event(kind, env, {"n": n}) for n, (kind, env) in enumerate(items)]
)


@given(SEQUENCES)
def test_equal_sequences_have_no_change(events: list[Event]) -> None:
    assert compare_events(events, list(events)) == []


@given(SEQUENCES, st.data())
def test_one_missing_or_extra_event_is_exactly_that(events: list[Event], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(events) - 1))
    shorter = events[:index] + events[index + 1 :]
    [change] = compare_events(events, shorter)
    assert change.lines[0].startswith(f"event {index} (")
    assert change.lines[0].endswith(" is missing in head")
    [change] = compare_events(shorter, events)
    assert change.lines[0].startswith(f"event {index} (")
    assert change.lines[0].endswith(" is extra in head")


@given(SEQUENCES, st.data())
def test_one_changed_field_is_exactly_that(events: list[Event], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(events) - 1))
    event = events[index]
    other = [*events[:index], Event(event.kind, event.env, {"n": -1.5}), *events[index + 1 :]]
    [change] = compare_events(events, other)
    assert change.lines[0].endswith(f": field n: {index} -> -1.5")
    assert change.lines[0].startswith(f"event {index} (")


@pytest.mark.parametrize(
    ("path", "patterns", "expected"),
    [
        ("at", ["at"], True),
        ("data.at", ["at"], True),
        ("data.at", ["data.*"], True),
        ("data.at", ["other.at"], False),
        ("data.phase_s", ["*_s"], True),
        ("data.seconds", ["*_s"], False),
    ],
)
def test_unstable_patterns(path: str, patterns: list[str], expected: bool) -> None:
    assert Patterns(patterns).name(path) is expected


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(1, 40))
def test_ulps_count_single_precision_steps(value: float, steps: int) -> None:
    other = np.float32(value)
    with np.errstate(over="ignore"):
        for _ in range(steps):
            other = np.nextafter(other, np.float32(np.inf))
    if not math.isfinite(float(other)):
        return
    # Zero has two signs, which lie one place apart.
    across = value <= 0 < float(other) or (value < 0 and float(other) == 0 and not np.signbit(other))
    assert ulps(value, float(other)) in ({steps, steps + 1} if across else {steps})


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_distance_sees_every_bit(dtype: torch.dtype) -> None:
    left = torch.tensor([[1.0, 0.0, -3.0], [math.nan, math.inf, 7.0]], dtype=dtype)
    assert distance(left, left.clone()) is None
    right = left.clone()
    right[0, 1] = -0.0
    found = distance(left, right)
    assert found is not None
    assert found == ("1 of 6 elements, up to 1 ulp, 0 absolute, first at [0, 1]: 0.0 -> -0.0", 1)
    right = left.clone()
    right.view(torch.uint8)[1, 0] ^= 1
    found = distance(left, right)
    assert found is not None
    assert found.text.startswith("1 of 6 elements, NaN: 1 in base, 1 in head, first at [1, 0]: nan (0x")
    assert found.ulps is None


def test_distance_sees_a_permutation() -> None:
    found = distance(torch.arange(6.0), torch.arange(6.0).flip(0))
    assert found is not None
    assert found.text.startswith("6 of 6 elements, ")


def test_exact_numbers() -> None:
    assert exact(torch.tensor(-0.0).numpy().tobytes(), "float32") == "-0x0.0p+0"
    payload = torch.tensor([0x7FC00001], dtype=torch.int32).view(torch.float32)
    assert exact(payload.numpy().tobytes(), "float32") == "nan:0x7fc00001"
    assert exact(torch.tensor(1.5, dtype=torch.bfloat16).view(torch.int16).numpy().tobytes(), "bfloat16") == (
        "0x1.8000000000000p+0"
    )


def _step(process: str, kind: str) -> Divergence:
    layout = Layout(0, "SGD", None, (), {})
    x, y = (
        Step(number=3, layout=layout, digests={}, losses=(loss,), settings={}, kinds={}, reads=None)
        for loss in ("0x1p+0", "0x1p+1")
    )
    return told_step(Stream(process, None, "Net"), 3, x, y, [KindChange(kind, 1, {})])


def _living(number: int | None, *, after: bool, name: str = "step 2") -> Divergence:
    look = Look(name, number, after, (), None)
    return living_state("rank-0", look, [("module Net#1", [KindChange("params", 1, {})])], name, 1)


def _event(moment: Moment) -> Divergence:
    [change] = compare_events([Event("epoch", None, {"n": 1}, moment)], [Event("epoch", None, {}, moment)])
    return change


def _printed(line: str) -> Trace:
    return Trace(Path(), about(()), (), (), (Output("text", "stdout", ({"line": line},)),))


# By what can be the cause of what follows.
IN_ORDER: list[Divergence] = [
    _living(2, after=True),
    _event((3, 0)),
    _living(3, after=False),
    # Its loss differs, and the others' gradients follow from it.
    _step("rank-1", "loss"),
    _step("rank-0", "grads"),
    _step("rank-0", "params"),
    _living(3, after=True),
    _event((4, 0)),
    final_state(Stream("rank-0", None, "Net"), KindChange("params", 1, {})),
    _living(None, after=False),
    *compare_outputs(_printed("a"), _printed("b"))[0],
]


@given(st.permutations(IN_ORDER))
def test_what_can_be_the_cause_comes_first(found: list[Divergence]) -> None:
    verdict = different(Compared(), found)
    assert [verdict.first, *verdict.rest] == IN_ORDER


@pytest.mark.parametrize(
    ("look", "told"),
    [
        ("file a, time 3.txt, time 12, before step 3", "the 12th write of a, time 3.txt, before step 3"),
        ("torch.save, time 2, before step 0", "the 2nd call of torch.save, before step 0"),
        ("loader, time 23, before step 4", "the 23rd pass over a DataLoader, before step 4"),
    ],
)
def test_the_occasion_of_a_look_is_told_in_words(look: str, told: str) -> None:
    lines = _living(4, after=False, name=look).lines
    assert lines[0] == f"module Net#1 at {told} overall: parameter"
    assert lines[-1] == f"last identical: {told}"


def test_what_is_looked_at_closely_is_the_step_of_the_headline() -> None:
    assert step_of(different(Compared(), [IN_ORDER[0], _step("rank-0", "grads")])) == 2
    assert step_of(different(Compared(), [IN_ORDER[-1], IN_ORDER[-2]])) is None


@pytest.mark.parametrize(
    ("process", "told"),
    [
        ("rank-0", "random state after step 7 overall: torch"),
        ("rank-1", "random state of rank 1 after step 7 overall: torch"),
    ],
)
def test_fields_of_a_step_are_told_by_its_number_and_rank(process: str, told: str, tmp_path: Path) -> None:
    """Of a run that was resumed: its first step is not step 0."""
    [trained] = load_trace(write_trace(tmp_path / "a", first=3)).processes
    steps = [replace(step, number=step.number + 6, kinds=_drawn("x")) for step in trained.steps]
    left = replace(trained, name=process, steps=tuple(steps))
    right = replace(left, steps=(steps[0], *(replace(step, kinds=_drawn("y")) for step in steps[1:])))
    [change] = compare_fields(sides(left, right)).divergences
    assert change.lines == [f"{told}: x -> y", "last identical: step 6 overall"]


def _drawn(state: str) -> dict[str, dict[str, str]]:
    return {"random state": {"torch": state}}
