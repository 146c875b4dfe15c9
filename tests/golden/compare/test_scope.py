"""Comparing less than everything: one env, one side longer than the other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from golden.compare import Different, Identical, NotComparable
from golden.compare.scope import compare_within
from golden.trace.kinds import RANDOM_STATE
from golden.trace.same import Part, Same
from golden.trace.trace import Site, Trace, load_trace
from tests.golden.traces import write_trace


def scope(what: tuple[Part, ...], **rest: Any) -> Same:
    return Same(says="", variants=("other",), what=what, **rest)


STEPS = scope(("steps",))


def test_one_env_of_two(tmp_path: Path) -> None:
    left = load_trace(write_trace(tmp_path / "left", final=True))
    right = load_trace(write_trace(tmp_path / "right", final=True, change={(1, 2): 2.0}))
    found = compare_within(left, right, scope(("steps",), env=0))
    assert isinstance(found, Identical)
    # Six steps of four tensors, and the final state.
    assert (found.compared.steps, found.compared.tensors) == (6, 28)
    assert isinstance(compare_within(left, right, scope(("steps",), env=1)), Different)
    assert isinstance(compare_within(left, right, scope(("steps",), env=7)), NotComparable)


def test_one_side_goes_on(tmp_path: Path) -> None:
    """What an optimizer ends with after more steps is no difference, what it did until then may be one."""
    long = load_trace(write_trace(tmp_path / "long", steps=6, final=True))
    short = load_trace(write_trace(tmp_path / "short", steps=4, final=True))
    assert isinstance(compare_within(long, short, STEPS), Different)
    found = compare_within(long, short, scope(("steps",), overlap="start"))
    assert isinstance(found, Identical)
    assert (found.compared.steps, found.compared.tensors) == (8, 32)

    other = load_trace(write_trace(tmp_path / "other", steps=4, change={(1, 3): 2.0}))
    found = compare_within(long, other, scope(("steps",), overlap="start"))
    assert isinstance(found, Different)
    assert [d.lines[0][:21] for d in (found.first, *found.rest)] == ["step 3 of env 1, Host"]


def test_one_side_began_earlier(tmp_path: Path) -> None:
    through = load_trace(write_trace(tmp_path / "through", final=True, change={(0, 3): 2.0, (1, 3): 2.0}))
    resumed = load_trace(
        write_trace(tmp_path / "resumed", final=True, first=3, change={(0, 3): 2.0, (1, 3): 2.0})
    )
    found = compare_within(through, resumed, scope(("steps", "rng"), overlap="end"))
    assert isinstance(found, Identical)
    assert (found.compared.steps, found.compared.tensors) == (6, 32)
    assert isinstance(compare_within(through, resumed, scope(("steps",), overlap="start")), Different)


def _event(kind: str, env: int | None, number: int) -> tuple[str, int | None, dict[str, Any]]:
    return kind, env, {"type": kind, "env": env, "number": number}


TURNS = [_event("step", env, number) for number in range(3) for env in range(2)]
UPDATES = [_event("update", None, number) for number in range(2)]
EACH = scope(("events", "counts", "steps", "rng"), env="each")


def test_each_env_by_itself(tmp_path: Path) -> None:
    """Envs that take turns are as good as envs one after the other, the policy's events before or after."""
    left = load_trace(write_trace(tmp_path / "left", final=True, events=[*TURNS, *UPDATES]))
    one_by_one = sorted(TURNS, key=lambda event: event[1] or 0)
    right = load_trace(
        write_trace(tmp_path / "right", final=True, env_by_env=True, events=[*UPDATES, *one_by_one])
    )
    assert isinstance(compare_within(left, right, scope(("events",))), Different)
    assert isinstance(compare_within(left, right, scope(("steps",))), Different)
    found = compare_within(left, right, EACH)
    assert isinstance(found, Identical)
    assert (found.compared.events, found.compared.steps, found.compared.rng_states) == (8, 12, 1)


def test_how_many_processes_took_steps_matters_where_steps_do(tmp_path: Path) -> None:
    one = load_trace(write_trace(tmp_path / "one", events=TURNS))
    two = replace(one, processes=one.processes * 2)
    for parts in (("events", "counts"), ("events",)):
        assert isinstance(compare_within(one, two, scope(parts)), Identical)
    assert isinstance(compare_within(one, two, scope(("events", "steps"))), Different)
    assert isinstance(compare_within(one, two, scope(("events", "rng"))), Different)


def test_each_env_has_its_own_order(tmp_path: Path) -> None:
    left = load_trace(write_trace(tmp_path / "left", events=[*TURNS, *UPDATES]))
    swapped = [*TURNS[:3], TURNS[5], TURNS[4], TURNS[3], *UPDATES]
    found = compare_within(left, load_trace(write_trace(tmp_path / "swapped", events=swapped)), EACH)
    assert isinstance(found, Different)
    assert all(" of env 1" in change.lines[0] for change in (found.first, *found.rest))

    policy = load_trace(write_trace(tmp_path / "policy", events=[*TURNS, *reversed(UPDATES)]))
    assert isinstance(compare_within(left, policy, EACH), Different)

    weights = load_trace(write_trace(tmp_path / "weights", change={(1, 4): 2.0}, env_by_env=True))
    found = compare_within(weights, left, scope(("steps",), env="each"))
    assert isinstance(found, Different)
    assert [d.lines[0][:21] for d in (found.first, *found.rest)] == ["step 4 of env 1, Host"]


def test_an_env_more_or_less(tmp_path: Path) -> None:
    left = load_trace(write_trace(tmp_path / "left", events=TURNS))
    only_one = [event for event in TURNS if event[1] == 0]
    fewer = load_trace(write_trace(tmp_path / "fewer", events=only_one))
    third = load_trace(write_trace(tmp_path / "third", events=[*TURNS, _event("step", 2, 0)]))
    for other, env in ((fewer, 1), (third, 2)):
        found = compare_within(left, other, scope(("events",), env="each"))
        assert isinstance(found, Different)
        assert f"(step) of env {env} is " in found.first.lines[0]
    moved = [("step", 1 - (env or 0), payload) for _, env, payload in TURNS[:1]] + TURNS[1:]
    counted = load_trace(write_trace(tmp_path / "counted", events=moved))
    found = compare_within(left, counted, scope(("counts",), env="each"))
    assert isinstance(found, Different)
    assert found.first.lines == ["counts of step of env 0: 3 -> 2"]


def test_each_env_without_any(tmp_path: Path) -> None:
    trace = load_trace(write_trace(tmp_path / "left", steps=0, events=UPDATES))
    found = compare_within(trace, trace, scope(("events",), env="each"))
    assert isinstance(found, NotComparable)
    assert found.reason == "no event and no optimizer step of any env on either side"


def test_random_numbers_of_interleaved_envs(tmp_path: Path) -> None:
    """Who drew before a step depends on the interleaving; what was drawn in all does not."""

    def drawn(state: str) -> dict[str, dict[str, str]]:
        return {"random state": {"torch": state}}

    def with_states(trace: Trace, steps: str, end: str) -> Trace:
        process = trace.processes[0]
        numbered = tuple(replace(s, kinds=drawn(f"{steps}{s.number}")) for s in process.steps)
        return replace(trace, processes=(replace(process, steps=numbered, kinds=drawn(end)),))

    trace = load_trace(write_trace(tmp_path / "left"))
    left, same, other = (with_states(trace, *states) for states in (("a", "x"), ("b", "x"), ("a", "y")))
    rng = scope(("steps", "rng"), env="each")
    assert isinstance(compare_within(left, same, rng), Identical)
    found = compare_within(left, other, rng)
    assert isinstance(found, Different)
    assert found.first.kind == RANDOM_STATE


@pytest.mark.parametrize("part", ["rng", "reads", "values"])
def test_a_part_of_every_step_alone_is_compared_at_every_step(tmp_path: Path, part: Part) -> None:
    site = Site("train.py", 7, "main", "item")
    of_step: dict[str, dict[str, Any]] = {
        "rng": {"kinds": {"random state": {"torch": "drawn"}}},
        "reads": {"reads": {site: 3}},
        "values": {"values": {site: "0x1p+0"}},
    }
    trace = load_trace(write_trace(tmp_path / "left", reads={("train.py", 7, "main", "item"): 2}))
    process = replace(trace.processes[0], values={})
    first, *rest = process.steps
    first = replace(first, values={site: "0x0p+0"}, kinds={"random state": {"torch": "0" * 32}})
    same = replace(process, steps=(first, *rest))
    other = replace(process, steps=(replace(first, **of_step[part]), *rest))
    left, right = (replace(trace, processes=(each,)) for each in (same, other))
    assert isinstance(compare_within(left, left, scope((part,))), Identical)
    assert isinstance(compare_within(left, right, scope((part,))), Different)


@pytest.mark.parametrize("part", ["events", "counts", "steps", "rng", "reads"])
def test_part_that_neither_side_has(tmp_path: Path, part: str) -> None:
    left = load_trace(write_trace(tmp_path / "left", steps=0))
    found = compare_within(left, left, scope((part,)))  # type: ignore[arg-type]
    assert isinstance(found, NotComparable)
    assert "on either side" in found.reason
