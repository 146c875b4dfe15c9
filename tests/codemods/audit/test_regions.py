"""Fenced regions: what waits in which order, and what a change does to it."""

from textwrap import dedent

import pytest

from codemods.device.regions import Region, compare_regions, regions_of
from codemods.program.source import parse_source

EPOCH = """
def run_epoch(envs, streams):
    losses = []
    for env in envs:
        losses.append(step(env))
        for layer in env.layers:
            layer.norm.item()
    for stream in streams:
        stream.synchronize()
    values = torch.stack(losses).tolist()
    ready = values[0].cpu()
    return values, ready

class Runner:
    def close(self):
        torch.cuda.synchronize()
        return self.loss.item()
"""


def regions(text: str) -> tuple[Region, ...]:
    return regions_of(parse_source(dedent(text), "program.py"))


def shown(region: Region) -> tuple[object, ...]:
    return region.function, region.loop, [(step.kind, step.text, step.inner) for step in region.steps]


def test_each_loop_has_its_order() -> None:
    assert [shown(region) for region in regions(EPOCH)] == [
        ("run_epoch", "for env in envs", [("read", "layer.norm.item()", ("for layer in env.layers",))]),
        ("run_epoch", "for stream in streams", [("fence", "stream.synchronize()", ())]),
        ("run_epoch", None, [("batch", "torch.stack(losses).tolist()", ()), ("read", "values[0].cpu()", ())]),
        (
            "Runner.close",
            None,
            [("fence", "torch.cuda.synchronize()", ()), ("read", "self.loss.item()", ())],
        ),
    ]


def test_a_move_is_no_change() -> None:
    moved = EPOCH.replace("def run_epoch(envs, streams):", "import torch\n\n\ndef run_one(envs, *, streams):")
    first, second = moved.split("class Runner:")
    assert compare_regions(regions(EPOCH), [*regions("class Runner:" + second), *regions(first)]) == ()


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        ("layer.norm.item()", "layer.norm.item(), layer.bias.item()", "for env in envs", "for env in envs"),
        ("torch.stack(losses).tolist()", "[x.item() for x in losses]", None, None),
        ("stream.synchronize()", "pass", "for stream in streams", "gone"),
        ("losses = []", "losses = [x.loss.item() for x in envs]", "new", "for x in envs"),
        (
            "        torch.cuda.synchronize()\n        return self.loss.item()",
            "        loss = self.loss.item()\n        torch.cuda.synchronize()\n        return loss",
            None,
            None,
        ),
    ],
)
def test_more_fewer_and_other_waits_are_changes(
    old: str, new: str, before: str | None, after: str | None
) -> None:
    changes = compare_regions(regions(EPOCH), regions(EPOCH.replace(old, new)))
    told = [(c.before.loop if c.before else "new", c.after.loop if c.after else "gone") for c in changes]
    assert (before, after) in told


def test_a_region_that_is_there_twice_counts_twice() -> None:
    once = "def f(xs):\n    for x in xs:\n        x.item()\n"
    twice = once + once.replace("f(", "g(")
    (change,) = compare_regions(regions(once), regions(twice))
    assert change.before is None
    assert change.after is not None
    assert compare_regions(regions(twice), regions(once))[0].after is None
