"""Streams and events: what did not wait for what, by both lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.simulated.result import Result
from tests.golden.simulated.child import seen

TWO_STREAMS = """
import torch
main, side = torch.cuda.current_stream(), torch.cuda.Stream()
a = torch.rand(100, device="cuda")  # made
side.wait_stream(main)  # first wait
with torch.cuda.stream(side):
    b = a * 2  # used
a.record_stream(side)
main.wait_stream(side)  # last wait
c = a + b  # read
a.add_(1)  # written
"""

TWO_DEVICES = """
import torch
policy, host = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4).to("cuda:1")
with torch.cuda.stream(torch.cuda.Stream(device="cuda:0")):
    torch.ones(3, device="cuda:0").sum()
torch.cuda.set_device(1)
for net, device in ((host, "cuda:1"), (policy, "cpu")):
    x = torch.ones(8, 4, device=device)
    net(net(x))[0].square().sum().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    assert {parameter.grad.device.type for parameter in net.parameters()} == {device.partition(":")[0]}
inputs = torch.ones(4, device="cuda:1")
torch.where(inputs > 0, inputs, 1.0)
kept = torch.empty(4, device="cuda:0")
kept.copy_(host.weight.detach()[0] * 2)
both = kept + host.bias.detach().to("cuda:0")
"""

TRAINING = """
import torch
from torch import nn
net = nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
stream, main = torch.cuda.Stream(), torch.cuda.current_stream()
for step in range(3):
    x = torch.rand(4, 8, device="cuda")
    ready = main.record_event()
    with torch.cuda.stream(stream):
        stream.wait_event(ready)  # wait for the batch
        loss = net(x).sum()
        loss.backward()
    done = stream.record_event()
    main.wait_event(done)  # wait for the gradients
    optimizer.step()
    optimizer.zero_grad()
    x.record_stream(stream)
    del x, loss
"""

FREED = """
import torch
side = torch.cuda.Stream()
x = torch.ones(1000, device="cuda")
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    y = x * 2  # late
x.record_stream(side)  # keeps it
del x
z = torch.zeros(1000, device="cuda")  # given
"""


def lines(source: str, result: Result) -> set[tuple[str, str]]:
    """The comments of both lines of each race."""
    text = source.splitlines()

    def comment(place: str) -> str:
        return text[int(place.rpartition(":")[2]) - 1].partition("# ")[2]

    return {(comment(race.place), comment(race.other)) for race in result.races}


@pytest.mark.parametrize(
    ("without", "found"),
    [
        pytest.param(None, set(), marks=pytest.mark.slow),
        pytest.param("first wait", {("used", "made")}, marks=pytest.mark.slow),
        ("last wait", {("read", "used"), ("written", "used")}),
    ],
)
def test_a_wait_that_is_taken_out_is_a_race_with_both_lines(
    without: str | None, found: set[tuple[str, str]], tmp_path: Path
) -> None:
    source = "\n".join(line for line in TWO_STREAMS.splitlines() if without is None or without not in line)
    assert lines(source, seen(tmp_path, source)) == found


@pytest.mark.slow
@pytest.mark.parametrize("without", ["wait for the batch", "wait for the gradients"])
def test_a_training_step_on_a_stream_races_without_its_waits(without: str, tmp_path: Path) -> None:
    assert not seen(tmp_path / "as it is", TRAINING).races
    changed = TRAINING.replace(
        "        stream.wait_event(ready)" if "batch" in without else "    main.wait_event(done)", ""
    )
    assert seen(tmp_path / "changed", changed).races


@pytest.mark.slow
def test_memory_given_back_while_another_stream_uses_it(tmp_path: Path) -> None:
    assert not seen(tmp_path / "as it is", FREED).races
    changed = "\n".join(line for line in FREED.splitlines() if "keeps it" not in line)
    found = seen(tmp_path / "changed", changed)
    assert lines(changed, found) == {("given", "late")}
    assert "record_stream" in found.races[0].what


@pytest.mark.slow
def test_each_device_has_its_streams_and_a_policy_on_the_cpu_stays_there(tmp_path: Path) -> None:
    assert seen(tmp_path, TWO_DEVICES, devices=2).races == ()
