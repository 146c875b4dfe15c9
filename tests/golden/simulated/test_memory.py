"""Peak memory against counts by hand; an extracted function that keeps its batch alive shows."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from tests.golden.simulated.child import seen

MIB = 1 << 20
BEGIN = f"import torch\nM = {MIB // 4}\n"
CASES = {
    "two at a time": ("x = torch.zeros(M, device='cuda'); y = x + 1; del x; z = y + 1; del y", 2),
    "a batch that is freed": (
        "b = torch.zeros(4 * M, device='cuda'); h = b[:M] * 2; del b; o = torch.zeros(4 * M, device='cuda')",
        5,
    ),
    "its caller keeps it": (
        "def step(b):\n    h = b[:M] * 2\n    del b\n    out = torch.zeros(4 * M, device='cuda')\n"
        "b = torch.zeros(4 * M, device='cuda')\nstep(b)",
        9,
    ),
    "a view keeps its storage": (
        "x = torch.zeros(2 * M, device='cuda')[:10]; y = torch.zeros(M, device='cuda')",
        3,
    ),
    "a graph keeps what it needs": (
        "w = torch.ones(M, device='cuda', requires_grad=True)\ny = (w * 2).exp()\nz = y.sin()\ndel y",
        # w, the product is freed, exp's result, sin's result; while exp runs the product is there, too.
        3,
    ),
    "copies to the device": ("a = torch.zeros(M).to('cuda'); b = torch.zeros(M).cuda(); c = a.to('cpu')", 2),
}


def test_the_peak_is_the_count_by_hand(tmp_path: Path) -> None:
    cases = "".join(
        f"def case():\n{textwrap.indent(source.replace('; ', chr(10)), '    ')}\n"
        f"torch.cuda.reset_peak_memory_stats(); case(); told[{name!r}] = torch.cuda.max_memory_allocated()\n"
        for name, (source, _) in CASES.items()
    )
    ending = 'import json; open("told.json", "w").write(json.dumps(told))\n'
    (peak,) = seen(tmp_path, BEGIN + "told = {}\n" + cases + ending).peaks
    told = json.loads((tmp_path / "told.json").read_text())
    assert told == {name: pytest.approx(mib * MIB, rel=0.01) for name, (_, mib) in CASES.items()}
    assert (peak.device, peak.bytes) == ("cuda:0", max(told.values()))
    assert sum(held.bytes for held in peak.held) == peak.bytes
    assert all(held.place.startswith("train.py:") for held in peak.held)
