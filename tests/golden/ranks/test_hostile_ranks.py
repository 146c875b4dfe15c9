"""Runs of several ranks as someone would break them who was told the promise and not how it is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from golden.compare import Different, compare
from golden.compare.replicas import other_sequence
from golden.record.exits import End, Rank, first
from golden.trace.trace import Call, load_trace
from tests.golden.traces import write_trace

pytestmark = pytest.mark.slow

PEER = "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:6548"
SLOW = "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:129] Timed out waiting 8000ms for send"


def ended(rank: int, at: int | None, error: str = "") -> Rank:
    return Rank(rank, 2, End(at, error))


# What each rank left, and which one ended first (None where that can't be told).
ENDS: dict[str, tuple[list[Rank], int | None]] = {
    "an exception, then that it is gone": ([ended(0, 9, PEER), ended(1, 5, "ValueError: x")], 1),
    "the same, noted later": ([ended(0, 4, PEER), ended(1, 5, "ValueError: x")], 1),
    "it left early": ([ended(0, 9, PEER), ended(1, 5)], 1),
    "it was killed": ([ended(0, 9, PEER), ended(1, None)], 1),
    "the first one was killed": ([ended(0, None), ended(1, 9, PEER)], 0),
    "its launcher ended the others": ([ended(0, None), ended(1, 5, "ValueError: x")], 1),
    "two are gone": ([ended(0, 9, PEER), ended(1, None), ended(2, None)], None),
    "nobody answers": ([ended(0, None), ended(1, 9, SLOW)], None),
    "none ended": ([ended(0, None), ended(1, None)], None),
}


@pytest.mark.parametrize("name", ENDS)
def test_who_ended_first_is_not_who_says_that_another_one_is_gone(name: str) -> None:
    known, expected = ENDS[name]
    found = first(known)
    assert (found.number if found is not None else None) == expected


# What two ranks ask for, and whether that is one sequence of calls.
ASKED = {
    "scatter float32[2] and 1 more src=0 | scatter float32[2] src=0": True,
    "scatter float32[2] src=0 | scatter float32[2] src=1": False,
    "all_to_all_single float32[3] | all_to_all_single float32[5]": True,
    "all_to_all float32[2] and 1 more | all_to_all float32[7] and 1 more": True,
    "send_object_list dst=1 | recv_object_list src=0": True,
    "send float32[2] dst=1 | barrier": False,
    "all_reduce float32[2] op=sum | all_reduce float32[3] op=sum": False,
    "all_reduce float32[2] op=sum | all_reduce float32[2] op=max": False,
    "gather_object dst=0 | gather_object dst=0": True,
    "barrier | monitored_barrier": False,
    "all_reduce float32[2] op=sum among ranks 0,1 | all_reduce float32[2] op=sum among ranks 0,2": True,
}


@pytest.mark.parametrize("asked", ASKED)
def test_replicas_may_ask_for_what_is_theirs(asked: str, tmp_path: Path) -> None:
    (process,) = load_trace(write_trace(tmp_path / "a")).processes
    one, other = (
        replace(process, name=f"rank-{rank}", calls=(Call(text, 0, "", ""),))
        for rank, text in enumerate(asked.split(" | "))
    )
    assert (other_sequence(one, other) is None) is ASKED[asked]


def test_ranks_are_compared_with_themselves(tmp_path: Path) -> None:
    """A rank that takes no step on one side leaves the others what they are."""
    left = load_trace(write_trace(tmp_path / "a"))
    changed = load_trace(write_trace(tmp_path / "b", change={(0, 2): 2.0}))

    def of(*ranks: int) -> tuple[object, ...]:
        return tuple(
            replace((changed if rank == 2 else left).processes[0], name=f"rank-{rank}") for rank in ranks
        )

    found = compare(replace(left, processes=of(0, 1, 2)), replace(left, processes=of(0, 2)))  # type: ignore[arg-type]
    assert isinstance(found, Different)
    assert found.first.lines == ["processes that took steps: 3 in base, 2 in head"]
    assert not found.rest
    found = compare(replace(left, processes=of(0, 1)), replace(left, processes=of(0, 2)))  # type: ignore[arg-type]
    assert isinstance(found, Different)
