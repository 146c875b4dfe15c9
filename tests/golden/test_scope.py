"""Comparing less than everything: one env, one side longer than the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.compare import Different, Identical, NotComparable
from golden.compare.scope import Scope, compare_within
from golden.trace.trace import load_trace
from tests.golden.traces import write_trace

STEPS = Scope(parts=("steps",))


def test_one_env_of_two(tmp_path: Path) -> None:
    left = load_trace(write_trace(tmp_path / "left", final=True))
    right = load_trace(write_trace(tmp_path / "right", final=True, change={(1, 2): 2.0}))
    found = compare_within(left, right, Scope(parts=("steps",), env=0))
    assert isinstance(found, Identical)
    # Six steps of four tensors, and the final state.
    assert (found.compared.steps, found.compared.tensors) == (6, 28)
    assert isinstance(compare_within(left, right, Scope(parts=("steps",), env=1)), Different)
    assert isinstance(compare_within(left, right, Scope(parts=("steps",), env=7)), NotComparable)


def test_one_side_goes_on(tmp_path: Path) -> None:
    """What an optimizer ends with after more steps is no difference, what it did until then may be one."""
    long = load_trace(write_trace(tmp_path / "long", steps=6, final=True))
    short = load_trace(write_trace(tmp_path / "short", steps=4, final=True))
    assert isinstance(compare_within(long, short, STEPS), Different)
    found = compare_within(long, short, Scope(parts=("steps",), overlap="start"))
    assert isinstance(found, Identical)
    assert (found.compared.steps, found.compared.tensors) == (8, 32)

    other = load_trace(write_trace(tmp_path / "other", steps=4, change={(1, 3): 2.0}))
    found = compare_within(long, other, Scope(parts=("steps",), overlap="start"))
    assert isinstance(found, Different)
    assert [(e.env, e.first_step) for e in found.envs] == [(0, None), (1, 3)]


def test_one_side_began_earlier(tmp_path: Path) -> None:
    through = load_trace(write_trace(tmp_path / "through", final=True, change={(0, 3): 2.0, (1, 3): 2.0}))
    resumed = load_trace(
        write_trace(tmp_path / "resumed", final=True, first=3, change={(0, 3): 2.0, (1, 3): 2.0})
    )
    found = compare_within(through, resumed, Scope(parts=("steps", "rng"), overlap="end"))
    assert isinstance(found, Identical)
    assert (found.compared.steps, found.compared.tensors) == (6, 32)
    assert isinstance(compare_within(through, resumed, Scope(parts=("steps",), overlap="start")), Different)


@pytest.mark.parametrize("part", ["events", "counts", "steps", "rng", "reads"])
def test_part_that_neither_side_has(tmp_path: Path, part: str) -> None:
    left = load_trace(write_trace(tmp_path / "left", steps=0))
    found = compare_within(left, left, Scope(parts=(part,)))  # type: ignore[arg-type]
    assert isinstance(found, NotComparable)
    assert "on either side" in found.reason
