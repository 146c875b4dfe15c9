"""Runs of several ranks: what one of them does otherwise is named with its rank and step."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from golden.compare import Different, Identical, NotComparable, compare
from golden.compare.outcome import Compared
from golden.compare.replicas import compare_replicas
from golden.compare.scope import compare_within
from golden.record import find_run, record_run
from golden.report.text import describe
from golden.trace.errors import NothingComparable, RunFailed
from golden.trace.golden import digested
from golden.trace.same import Same
from golden.trace.tolerance import Tolerance
from golden.trace.trace import Call, Trace

# One worker makes the recordings that these tests share.
pytestmark = [pytest.mark.xdist_group("ranks"), pytest.mark.slow]
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
RUN = """
command = ["python", "fork.py", "{ranks}", "train.py", "--out", "{{out}}", "--steps", "3"]
budget = 9
timeout = 60
"""
# A process that is in no such group: torch does nothing then.
ALONE = """
import torch, torch.distributed as dist

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model(torch.ones(2)).sum().backward()
optimizer.step()
dist.all_reduce(torch.ones(2), group=dist.GroupMember.NON_GROUP_MEMBER)
dist.barrier()
dist.destroy_process_group()
"""
Record = Callable[..., Trace]
SOME = Compared(steps=1)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Records a program of the examples with one line changed; unchanged ones once."""
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "golden" / "runs").mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("fork.py"), folder)
    known: dict[tuple[str, str, str, int], Trace] = {}

    def get(program: str, before: str = "", after: str = "", ranks: int = 2) -> Trace:
        key = program, before, after, ranks
        if key in known:
            return known[key]
        text = (EXAMPLES / program / "train.py").read_text()
        if before:
            assert text.count(before) == 1, (program, before)
        (folder / "train.py").write_text(text.replace(before, after) if before else text)
        (folder / "golden" / "runs" / "train.toml").write_text(RUN.format(ranks=ranks))
        out = folder / f"out-{sum(1 for _ in folder.iterdir())}"
        known[key] = record_run(find_run("train", folder), root=folder, out=out)
        return known[key]

    return get


SHIFTED = ("[rank::world]", "[(rank + (rank == 1 and step == 1)) % world::world]")
TENSORS: tuple[Literal["grads", "params", "state"], ...] = ("grads", "params", "state")
REDUCE = "            distributed.all_reduce(parameter.grad)"
FAULTS = {
    "one rank's data": ("sharded", *SHIFTED, r"step 1 of rank 1, FSDPSequential .*: loss of backward pass 0"),
    "one rank's data, with gradients reduced inside of C++": (
        "distributed",
        *SHIFTED,
        r"step 1 of rank 1, Sequential .*: loss of backward pass 0",
    ),
    "one rank's weights": (
        "pipeline",
        "        hidden = stage(torch.randn",
        "        stage[0].weight.data[0] += (_step == 1) * 1e-3\n        hidden = stage(torch.randn",
        r"rank 0, call 0 of other ranks before step 1 overall: send float32\[8, 16\] dst=1 is given other",
    ),
    "a reduction less": (
        "accumulate",
        REDUCE,
        f"            if step != 1 or parameter.dim() > 1:\n    {REDUCE}",
        r"rank 0, call 1 of other ranks before step 1 overall: all_reduce float32\[16\] op=sum -> "
        r"all_reduce float32\[2, 16\] op=sum",
    ),
    "another order": (
        "accumulate",
        f"for parameter in net.parameters():\n{REDUCE}",
        f"for parameter in list(net.parameters())[:: -1 if step == 1 else 1]:\n{REDUCE}",
        r"rank 0, call 0 of other ranks before step 1 overall: all_reduce float32\[16, 8\] op=sum -> "
        r"all_reduce float32\[2\] op=sum",
    ),
    "a micro-batch less": (
        "accumulate",
        "range(options.micro)",
        "range(options.micro - (rank == 1 and step == 1))",
        r"step 1 of rank 1, Sequential .*: loss of backward pass 1: absent in head",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named_with_its_rank_and_step(record: Record, fault: str) -> None:
    program, before, after, headline = FAULTS[fault]
    found = compare(record(program), record(program, before, after))
    assert isinstance(found, Different)
    assert re.match(headline, describe(found.first)[0]), describe(found.first)


def test_calls_are_seen(record: Record) -> None:
    rank = record("accumulate").processes[1]
    calls = [[call.text.split()[0] for call in step.calls] for step in rank.steps]
    assert calls == [["broadcast"] * 4 + ["all_reduce"] * 5, ["all_reduce"] * 5, ["all_reduce"] * 5]
    assert [call.text for call in rank.calls] == ["barrier"]
    # What one rank sends is what the other one receives.
    first, second = record("pipeline").processes
    assert [call.gives for call in first.steps[1].calls if call.gives] == [
        call.gets for call in second.steps[1].calls if call.gets
    ]
    texts = {call.text.split()[0] for call in record("sharded").processes[0].steps[1].calls}
    assert any("gather" in text for text in texts)
    assert any("scatter" in text for text in texts)


def test_the_first_rank_tells_of_the_machine(record: Record) -> None:
    """The others don't compute the canary again, nor count lines."""
    trace = record("accumulate")
    assert trace.about.fingerprint["canary"]
    ends = [(rank.folder / "steps.jsonl").read_text().splitlines()[-1] for rank in trace.processes]
    assert ['"canary"' in end for end in ends] == [True, False]
    # A first rank that takes no step leaves it to the next one.
    idle = "        if rank == 0:\n            continue\n        optimizer.step()"
    alone = record("accumulate", "        optimizer.step()", idle)
    # What it is called is its rank.
    assert [process.name for process in alone.processes] == ["rank-1"]
    assert alone.about.fingerprint == trace.about.fingerprint


def test_replicas_part_at_a_step_and_tensor(record: Record) -> None:
    assert isinstance(compare_replicas(record("accumulate")), Identical)
    before = "        optimizer.step()\n"
    changed = record(
        "accumulate", before, f"{before}        net[2].bias.data += (rank == 1 and step == 0) * 1e-3\n"
    )
    found = compare_replicas(changed)
    assert isinstance(found, Different)
    # Parameters are seen as the next step leaves them: nobody looks in between.
    assert describe(found.first)[0] == "step 1 of rank 1, Sequential (step 1 overall, SGD): parameter 2.bias"
    # Against a run without the mistake, the rank that made it is the first one.
    against = compare(record("accumulate"), changed)
    assert isinstance(against, Different)
    assert "rank 1" in describe(against.first)[0]
    # The rest of the ranks of a run is no property of one rank.
    alone = replace(changed, processes=changed.processes[:1])
    assert isinstance(compare_replicas(alone), NotComparable)


def test_a_golden_counts_steps_by_rank(record: Record) -> None:
    program, before, after, _ = FAULTS["a micro-batch less"]
    found = compare(digested(record(program)), digested(record(program, before, after)))
    assert isinstance(found, Different)
    assert describe(found.first)[0].startswith("step 1 of rank 1, Sequential (step 1 overall, SGD): loss")


def test_a_golden_keeps_calls(record: Record) -> None:
    trace = record("accumulate")
    golden = digested(trace)
    assert isinstance(compare(golden, digested(trace)), Identical)

    def verdict(rank: int, step: int, change: Callable[[tuple[Call, ...]], tuple[Call, ...]]) -> str:
        processes = list(trace.processes)
        steps = list(processes[rank].steps)
        steps[step] = replace(steps[step], calls=change(steps[step].calls))
        processes[rank] = replace(processes[rank], steps=tuple(steps))
        found = compare(golden, digested(replace(trace, processes=tuple(processes))))
        assert isinstance(found, Different)
        return describe(found.first)[0]

    def sent(calls: tuple[Call, ...]) -> tuple[Call, ...]:
        return (*calls[:2], replace(calls[2], gives="0" * 16), *calls[3:])

    # Where other calls stay the same, so do bits, often: a reduction of what all ranks hold, say.
    fewer, other = verdict(0, 1, lambda calls: (calls[0], *calls[2:])), verdict(1, 2, sent)
    text = (
        r"rank 0, call 1 of other ranks before step 1 overall: all_reduce float32\[16\] op=sum -> all_reduce"
    )
    assert re.match(text, fewer), fewer
    assert re.fullmatch(
        "rank 1, call 2 of other ranks before step 2 overall: .* is given other values", other
    )


def test_another_number_of_ranks_is_compared_by_what_it_ends_with(record: Record) -> None:
    two, one = record("accumulate"), record("accumulate", ranks=1)
    assert isinstance(compare(two, one), Different)
    # The same sums in another order: equal but for rounding.
    found = compare_within(two, one, Same(says="", variants=("one",), what=("final",), ranks="first"))
    assert not isinstance(found, NotComparable)
    assert isinstance(found, Identical) or found.first.kind == "final state"
    near = [Tolerance(of=of, field="*", ulps=1 << 16, reason="sums in another order") for of in TENSORS]
    sides = [replace(t, about=t.about.model_copy(update={"tolerances": near})) for t in (two, one)]
    found = compare_within(*sides, Same(says="", variants=("one",), what=("final",), ranks="first"))
    assert isinstance(found, Identical), found


def test_a_rank_that_ends_early_is_named(record: Record) -> None:
    leaves = "        if rank == 1 and step == 1:\n            return\n        optimizer.zero_grad()"
    with pytest.raises(
        RunFailed,
        match=r"after 1 optimizer step of rank 0, 1 optimizer step of rank 1 \(which ended first\): "
        r"rank 1 ended without an error; then rank 0: ",
    ):
        record("accumulate", "        optimizer.zero_grad()", leaves)


def test_a_call_among_others_is_left_to_torch(tmp_path: Path) -> None:
    (tmp_path / "golden" / "runs").mkdir(parents=True)
    (tmp_path / "golden" / "runs" / "train.toml").write_text('command = ["python", "train.py"]\nbudget = 9\n')
    (tmp_path / "train.py").write_text(ALONE)
    trace = record_run(find_run("train", tmp_path), root=tmp_path, out=tmp_path / "out")
    (process,) = trace.processes
    assert [call.text.partition(" ")[0] for call in process.calls] == ["all_reduce", "barrier"]


# Two ranks as on two machines: their processes have one number.
TWINS = """
import os, sys
os.getpid = lambda: 7
import torch, torch.distributed as dist

store, child = sys.argv[1], os.fork()
dist.init_process_group("gloo", init_method=f"file://{store}/store", rank=int(not child), world_size=2)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model(torch.ones(2)).sum().backward()
optimizer.step()
dist.destroy_process_group()
if not child:
    sys.exit()
os.waitpid(child, 0)
"""
# The first of four ranks, alone.
ONE_OF_FOUR = """
import torch, torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
torch.nn.Linear(2, 1)(torch.ones(2)).sum().backward()
"""


def test_ranks_of_several_machines_are_all_recorded_or_the_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "golden" / "runs").mkdir(parents=True)
    file = tmp_path / "golden" / "runs" / "train.toml"
    file.write_text('command = ["python", "train.py", "{out}"]\nbudget = 9\n')
    (tmp_path / "train.py").write_text(TWINS)
    trace = record_run(find_run("train", tmp_path), root=tmp_path, out=tmp_path / "out")
    assert [process.name for process in trace.processes] == ["rank-0", "rank-1"]
    (tmp_path / "train.py").write_text(ONE_OF_FOUR)
    with pytest.raises(NothingComparable, match=r"of 4 ranks 3 left no record \(1, 2, 3\); hand the env"):
        record_run(find_run("train", tmp_path), root=tmp_path, out=tmp_path / "none")
    assert not (tmp_path / "none").exists()
