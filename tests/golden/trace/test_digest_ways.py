"""Digests made on the host and on the device are never compared with each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from golden.compare import Different, Identical, NotComparable, compare
from golden.trace.golden import digested
from golden.trace.trace import Trace, load_trace
from tests.golden.project import RUN, Project
from tests.golden.traces import write_trace

pytestmark = pytest.mark.slow

OTHERWISE = (
    "not comparable: digests of {} were made on the host on one side and on the device on the other, which "
    "says nothing about the tensors. Record both again"
)


def on_device(trace: Path, kind: str = "params", digest: str = "5" * 32) -> Path:
    """Say in a trace that one kind's digests were made on the device, and have them be others."""
    steps = trace / "rank-0" / "steps.jsonl"
    found = []
    for line in steps.read_text().splitlines(keepends=True):
        for name in ("params", "grads"):
            if name == kind:
                line = line.replace(
                    f'"{name}": [["body.weight", "float32", [4]]]',
                    f'"{name}": [["body.weight", "float32", [4], "sums"]]',
                )
        if line.startswith('{"step"'):
            head, _, rest = line.partition(f'"{kind}": "')
            line = f'{head}"{kind}": "{digest}{rest[32:]}'
        found.append(line)
    steps.write_text("".join(found))
    return trace


def test_nothing_is_said_where_digests_were_made_otherwise(project: Project, tmp_path: Path) -> None:
    left, right = write_trace(tmp_path / "a"), on_device(write_trace(tmp_path / "b"))
    for sides in ((left, right), (right, left)):
        result = project.golden("diff", *sides)
        assert result.code == 4
        assert result.out.startswith(OTHERWISE.format("1 tensor (params body.weight)")), result.out
    # The same way on both sides is compared, whichever it is.
    assert project.golden("diff", right, on_device(write_trace(tmp_path / "c"))).code == 0
    other = on_device(write_trace(tmp_path / "d"), digest="6" * 32)
    assert "first divergence: step 0 of env 0, Host (step 0 overall, SGD): parameter body.weight" in (
        project.golden("diff", right, other).out
    )


def test_a_way_that_is_not_known_is_refused(project: Project, tmp_path: Path) -> None:
    """Of a later version, say: it is neither the host's nor the device's."""
    left, right = on_device(write_trace(tmp_path / "a")), on_device(write_trace(tmp_path / "b"))
    steps = right / "rank-0" / "steps.jsonl"
    steps.write_text(steps.read_text().replace('"sums"', '"blake3"'))
    result = project.golden("diff", left, right)
    assert result.code == 2
    assert "is damaged: it has digests made by 'blake3', which this version does not know" in result.err


@pytest.mark.usefixtures("goldens")
def test_a_golden_of_the_host_says_how_to_go_on(project: Project, reference: Callable[[], Path]) -> None:
    project.run_file(RUN + '\n[observe]\ndigests = "device"\n')
    result = project.golden("verify", "train", "--root", project.root, "-o", project.root / "out")
    assert result.code == 4, result
    assert (
        "were made on the host on one side and on the device on the other, which says nothing about the "
        "tensors"
    ) in result.out
    assert "`golden record RUN --update`" in result.out
    # The trace of that run, against one of the host with all values at each step.
    traces = list((project.root / "out").glob("**/trace.json"))
    assert len(traces) == 1
    result = project.golden("diff", reference(), traces[0].parent)
    assert result.code == 4
    assert result.out.startswith("not comparable: digests of "), result.out


@pytest.mark.parametrize("steps", [6, 400])
def test_a_golden_keeps_how_digests_were_made(tmp_path: Path, steps: int) -> None:
    """Of a long run in rows that stand for several steps."""

    def golden(name: str, *, device: bool = True, digest: str = "5" * 32) -> Trace:
        trace = write_trace(tmp_path / name, steps=steps)
        return digested(load_trace(on_device(trace, digest=digest) if device else trace))

    host, device = golden("host", device=False), golden("device")
    for sides in ((host, device), (device, host)):
        assert isinstance(compare(*sides), NotComparable)
    assert isinstance(compare(device, golden("again")), Identical)
    assert isinstance(compare(device, golden("other", digest="6" * 32)), Different)
