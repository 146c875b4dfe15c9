"""What a process holds at its end beside weights: settings, attributes of modules, names of one tensor."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.compare import Different, Identical, compare
from golden.compare.learn import repeats
from golden.report.text import describe
from golden.trace.trace import Trace, load_trace
from tests.golden.project import Project

SCRIPT = """
import sys, time, torch
from torch import nn

class Odd(dict):
    def items(self):
        raise ValueError

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(9, 4, sparse=True, mode="sum")
        self.body = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.2), nn.Linear(4, 4))
        self.body[2].weight = self.body[0].weight
        self.register_buffer("mask", torch.ones(2))
        self.calls, self.scale, self.mean = 0, 0.5, torch.zeros(3)
        self.begun, self.where, self.kinds = time.perf_counter(), sys.argv[1], {"b", "a"}
        self.layers = [self.body]
        self.named = {id(self.body): "body", id(self.words): "words"}
        self.odd, self.latency_ms = Odd(a=3), time.perf_counter() % 1
        # ATTRIBUTES
    def forward(self, x):
        self.calls += 1
        return self.body(self.words(x))

def main():
    torch.manual_seed(0)
    net = Net()
    words = torch.optim.SparseAdam(net.words.parameters(), lr=0.1)
    rest = torch.optim.SGD(net.body.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(rest, 2)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=50)
    for step in range(3):
        scaler.scale(net(torch.tensor([[1, 2, 1]])).sum()).backward()
        # BEFORE STEP
        words.step()
        scaler.step(rest)
        scaler.update()
        rest.zero_grad()
        schedule.step()
    # LAST
    open(sys.argv[1] + "/done", "w").close()

main()
"""
RUN = 'command = ["python", "train.py", "{out}"]\nbudget = 3\ntimeout = 60\n'
CHANGES = [
    ("LAST", "schedule.step(); schedule.step()", "settings of Net#1 at the end: group 0.lr"),
    (
        "LAST",
        "rest.param_groups[0]['weight_decay'] = 0.1",
        "settings of Net#1 at the end: group 0.weight_decay",
    ),
    ("LAST", "torch.set_default_dtype(torch.float64)", "settings of the process at the end: default dtype"),
    ("LAST", "scaler._growth_interval = 60", "gradient scaler 0 at the end: scaler.growth_interval"),
    ("LAST", "net.scale = 0.25", "attribute scale: 0.5 -> 0.25"),
    ("LAST", "net.calls += 1", "attribute calls: 3 -> 4"),
    ("LAST", "net.mean[1] = 1", "attribute mean"),
    ("LAST", "net.kinds.add('c')", "attribute kinds"),
    ("LAST", "net.named[id(net.body)] = 'other'", "attribute named"),
    ("LAST", "net.body[1].p = 0.3", "attribute body.1.p: 0.2 -> 0.3"),
    (
        "LAST",
        "net.body[2].weight = nn.Parameter(net.body[0].weight.detach().clone())",
        "attribute (names of one tensor)",
    ),
    (
        "ATTRIBUTES",
        "self.register_buffer('mask', self.mask, persistent=False)",
        "attribute (buffers not kept)",
    ),
    (
        "BEFORE STEP",
        "net.words.weight.grad = net.words.weight.grad.coalesce()",
        "gradient 0 is coalesced: False -> True",
    ),
]


def record(project: Project, name: str, *changes: tuple[str, str]) -> Trace:
    project.script(SCRIPT)
    for marker, code in changes:
        project.edit(marker, code)
    project.run_file(RUN)
    return load_trace(project.record(name))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    from golden.record import find_run, record_run

    folder: Path = tmp_path_factory.mktemp("held")
    (folder / "golden" / "runs").mkdir(parents=True)
    (folder / "golden" / "runs" / "train.toml").write_text(RUN)
    (folder / "train.py").write_text(SCRIPT)
    run = find_run("train", folder)
    first, again = (record_run(run, root=folder, out=folder / name) for name in ("base", "again"))
    learnt, found = repeats(first, again)
    assert isinstance(found, Identical)
    assert {place.name for place in learnt.about.unstable} == {"begun", "latency_ms"}
    return learnt


@pytest.mark.slow
@pytest.mark.parametrize("marker", ["LAST", "ATTRIBUTES", "BEFORE STEP"])
def test_each_is_a_difference(project: Project, base: Trace, marker: str) -> None:
    mine = [(code, said) for where, code, said in CHANGES if where == marker]
    found = compare(base, record(project, "changed", (marker, "; ".join(code for code, _ in mine))))
    assert isinstance(found, Different)
    told = [line for d in (found.first, *found.rest) for line in describe(d)]
    for _, said in mine:
        assert any(said in line or said.removeprefix("attribute ") in line for line in told), (said, told)


@pytest.mark.slow
def test_an_attribute_of_one_side_is_named_and_no_difference(project: Project, base: Trace) -> None:
    found = compare(base, record(project, "more", ("ATTRIBUTES", "self.depth = 3; self.helper = main")))
    assert isinstance(found, Identical)
    assert any("attribute depth of Net#0" in text for text in found.compared.uncompared)
    assert any("attribute odd (ValueError)" in text for text in found.compared.uncompared)
    assert not any("helper" in text or "begun" in text for text in found.compared.uncompared)


@pytest.mark.slow
def test_a_golden_keeps_what_is_held(project: Project) -> None:
    project.script(SCRIPT)
    project.run_file(RUN)
    assert project.golden("record", "train", "--update", "--root", project.root).code == 0
    assert project.golden("verify", "train", "--root", project.root).code == 0
    for code, said in (
        ("schedule.step()", "settings of Net#1 at the end"),
        ("net.calls += 1", "attribute calls in Net at the end"),
    ):
        project.script(SCRIPT.replace("# LAST", code))
        result = project.golden("verify", "train", "--root", project.root)
        assert (result.code, said in result.out) == (1, True), result


@pytest.mark.slow
def test_a_golden_keeps_each_of_many_attributes(project: Project) -> None:
    many = SCRIPT.replace("# ATTRIBUTES", "vars(self).update({f'knob_{i:03}': i for i in range(700)})")
    project.script(many)
    project.run_file(RUN)
    assert project.golden("record", "train", "--update", "--root", project.root).code == 0
    assert project.golden("verify", "train", "--root", project.root).code == 0
    project.script(many.replace("# LAST", "net.knob_699 = 0"))
    result = project.golden("verify", "train", "--root", project.root)
    assert (result.code, "attribute knob_699 in Net at the end" in result.out) == (1, True), result
