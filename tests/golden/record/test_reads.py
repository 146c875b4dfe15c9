"""Host reads: counted by the place that asks for them, a part of the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from golden.trace.trace import Site, load_trace
from tests.golden.project import Project

EVERY_WAY = """
import logging, sys
import numpy as np
import torch

def log(x):
    logging.getLogger("t").warning("%s", x)

class Reader:
    def all_ways(self, x, row):
        x.item(); x.item()
        row.cpu(); row.tolist(); row.numpy(); np.asarray(row)
        float(x); int(x); bool(x); complex(x)
        if x: pass
        [1, 2, 3][x.long()]
        print(x); f"{x}"; str(row); repr(row)
        1.0 in row
        max(x, x)
        log(x)

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    net(torch.ones(2)).sum().backward()
    Reader().all_ways(torch.tensor(1.0), torch.ones(3))
    if step:
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)
    optimizer.step()
torch.ones(()).item()
"""


def test_every_way_to_read_is_seen_at_its_place(project: Project) -> None:
    project.script(EVERY_WAY)
    project.run_file('command = ["python", "train.py"]\nbudget = 5\n')
    trace = load_trace(project.record("out"))
    lines = dict(enumerate(EVERY_WAY.splitlines(), 1))
    (process,) = trace.processes
    counts: Counter[Site] = Counter(process.reads)
    for step in process.steps:
        counts.update(step.reads or {})
    found = {(lines[site.line].strip(), site.read): count for site, count in counts.items()}
    clip = "torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)"
    expected = {
        ("x.item(); x.item()", "item"): 2,
        **{
            ("row.cpu(); row.tolist(); row.numpy(); np.asarray(row)", r): 1
            for r in ("cpu", "tolist", "numpy", "array")
        },
        **{("float(x); int(x); bool(x); complex(x)", r): 1 for r in ("float", "int", "bool", "complex")},
        ("if x: pass", "bool"): 1,
        ("[1, 2, 3][x.long()]", "index"): 1,
        ('print(x); f"{x}"; str(row); repr(row)', "repr"): 3,
        ('print(x); f"{x}"; str(row); repr(row)', "format"): 1,
        ("1.0 in row", "contains"): 1,
        ("max(x, x)", "bool"): 1,
        ('logging.getLogger("t").warning("%s", x)', "repr"): 1,
    }
    per_step = {place: 2 * count for place, count in expected.items()}
    assert found == {**per_step, (clip, "bool"): 1, ("torch.ones(()).item()", "item"): 1}
    assert {site.function for site in counts} == {"Reader.all_ways", "log", "<module>"}
    assert {site.file for site in counts} == {"train.py"}


def test_one_more_read_per_step_is_named_by_file_and_line(
    project: Project, reference: Callable[[], Path]
) -> None:
    project.edit("AFTER STEP", "bool(loss > 0)")
    line = next(
        n for n, text in enumerate((project.root / "train.py").read_text().splitlines(), 1) if "bool(" in text
    )
    result = project.golden("diff", reference(), project.record("changed"))
    assert result.code == 1
    assert result.out.splitlines()[1:5] == [
        "first divergence: host reads before step 0 of env 1, Sequential (step 1 overall): 1 -> 2",
        f"  train.py:{line} <module> bool: 0 -> 1",
        "  another number of reads before 17 of 18 steps",
        result.out.splitlines()[4],
    ]


@pytest.mark.slow
def test_bits_are_named_before_reads(project: Project, reference: Callable[[], Path]) -> None:
    project.edit("AFTER STEP", "host[0].bias.data[0] += bool(step == 3 and loss > 0)")
    result = project.golden("diff", reference(), project.record("changed"))
    assert "first divergence: module Sequential#0 after step 10 overall: parameter 0.bias" in result.out
    assert "\n  step 4 of env 0, Sequential (step 12 overall, SGD): buffer" in result.out
    assert "\nhost reads before step 3 of env 1, Sequential (step 10 overall): 1 -> 2\n" in result.out


@pytest.mark.slow
def test_reads_that_moved_are_the_same_reads(project: Project, reference: Callable[[], Path]) -> None:
    project.script((project.root / "train.py").read_text().replace("loss.item()", "value(loss)"))
    project.script("def value(x):\n    return x.item()\n" + (project.root / "train.py").read_text())
    result = project.golden("diff", reference(), project.record("changed"))
    assert result.code == 0
    assert "18 host reads" in result.out


def test_reads_against_a_golden(project: Project, goldens: Path) -> None:
    project.edit("AFTER STEP", "loss.item() if env else None")
    result = project.golden("verify", "train", "--root", project.root)
    assert result.code == 1
    assert "host reads before step 0 of env 2, Sequential (step 2 overall): 1 -> 2" in result.out
    assert "<module> (2) item: 0 -> 1" in result.out


def test_reads_that_torch_makes_for_the_program_are_its_own(project: Project) -> None:
    """Also where the observer stands between the two."""
    project.script(
        "import torch\n"
        "net = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)\n"
        "for x in torch.utils.data.DataLoader(torch.ones(1, 2)):\n"
        "    loss = net(x).sum()\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
        "    plateau.step(loss)\n"
    )
    project.run_file('command = ["python", "train.py"]\nbudget = 5\n')
    (process,) = load_trace(project.record("out")).processes
    counts = Counter(process.reads)
    counts.update(process.steps[0].reads or {})
    found = {(site.line, site.read): count for site, count in counts.items()}
    assert found == {(5, "item"): 1, (9, "float"): 1}
