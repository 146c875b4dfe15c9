"""Programs of other shapes: several processes, models that are copied or grow, odd tensors."""

from __future__ import annotations

import pytest

from golden.trace.streams import streams
from golden.trace.trace import Trace, load_trace
from tests.golden.project import Project

SILENT = 'command = ["python", "train.py"]\nbudget = 5\ntimeout = 90\n'


def recorded(project: Project, script: str, run: str = SILENT) -> Trace:
    project.script(script)
    project.run_file(run)
    return load_trace(project.record("out"))


def test_processes_are_traced_by_rank(project: Project) -> None:
    trace = recorded(
        project,
        "import multiprocessing, os, torch\n"
        "def train(rank):\n"
        "    os.environ['RANK'] = str(rank)\n"
        "    net = torch.nn.Linear(2, 2)\n"
        "    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "    for _ in range(2 + rank):\n"
        "        net(torch.ones(1, 2)).sum().backward()\n"
        "        optimizer.step()\n"
        "torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)\n"
        "context = multiprocessing.get_context('fork')\n"
        "workers = [context.Process(target=train, args=(rank,)) for rank in (1, 0)]\n"
        "[w.start() for w in workers]\n"
        "[w.join() for w in workers]\n",
    )
    assert [(p.name, len(p.steps)) for p in trace.processes] == [("rank-0", 2), ("rank-1", 3)]
    assert streams(trace.processes[1])[0].title == "rank 1, Linear"
    assert all(p.finals for p in trace.processes)


@pytest.mark.slow
def test_names_and_environments(project: Project) -> None:
    """Copies of a template, wrapped and grown while they train, keep dotted names and their environment."""
    trace = recorded(
        project,
        "import copy, torch\n"
        "from torch import nn\n"
        "class Host(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.body = nn.Linear(3, 3)\n"
        "        self.slots = nn.ModuleDict()\n"
        "        self.register_buffer('seen', torch.zeros(()))\n"
        "    def forward(self, x):\n"
        "        self.seen += 1\n"
        "        x = self.body(x)\n"
        "        for seed in self.slots.values():\n"
        "            x = x + seed(x)\n"
        "        return x\n"
        "hosts = [Host()]\n"
        "hosts.append(copy.deepcopy(hosts[0]))\n"
        "optimizers = [torch.optim.Adam(h.parameters()) for h in hosts]\n"
        "free = nn.Parameter(torch.ones(2))\n"
        "table = nn.Embedding(5, 2, sparse=True)\n"
        "alone = torch.optim.SGD([free], lr=0.1)\n"
        "sparse = torch.optim.SparseAdam(table.parameters())\n"
        "for step in range(3):\n"
        "    for host, optimizer in zip(hosts, optimizers):\n"
        "        if step == 1 and host is hosts[1]:\n"
        "            host.slots['a'] = nn.Linear(3, 3)\n"
        "            optimizer.add_param_group({'params': host.slots['a'].parameters()})\n"
        "        host(torch.ones(2, 3)).sum().backward()\n"
        "        optimizer.step()\n"
        "(free * table(torch.tensor([1, 3])).sum()).sum().backward()\n"
        "alone.step()\n"
        "sparse.step()\n",
        SILENT + '[env]\nmodule = "Host"\ncount = 2\n',
    )
    (process,) = trace.processes
    names = streams(process)
    assert [names[s.layout.optimizer].title for s in process.steps] == [
        *["env 0, Host", "env 1, Host"] * 3,
        "SGD",
        "Embedding",
    ]
    first, grown = process.steps[1].layout, process.steps[3].layout
    assert [i.name for i in first.tensors["params"]] == ["body.weight", "body.bias"]
    assert [i.name for i in first.tensors["buffers"]] == ["seen"]
    assert [i.name for i in grown.tensors["params"]][2:] == ["slots.a.weight", "slots.a.bias"]
    assert "slots.a.weight.exp_avg" in [i.name for i in process.steps[5].layout.tensors["state"]]
    assert [i.name for i in process.steps[6].layout.tensors["params"]] == ["(parameter 0 of no module)"]
    sparse = process.steps[7].layout.tensors["grads"]
    assert [(i.name, i.dtype) for i in sparse] == [
        ("weight[0]", "int64"),
        ("weight[1]", "float32"),
        ("weight[2]", "int64"),
    ]


@pytest.mark.slow
def test_models_built_before_the_first_env(project: Project) -> None:
    trace = recorded(
        project,
        "import torch\n"
        "class Host(torch.nn.Linear):\n"
        "    pass\n"
        "probe = Host(2, 2)\n"
        "hosts = [Host(2, 2) for _ in range(4)]\n"
        "for host in [probe, *hosts]:\n"
        "    host(torch.ones(1, 2)).sum().backward()\n"
        "    torch.optim.SGD(host.parameters(), lr=0.1).step()\n",
        SILENT + '[env]\nmodule = "Host"\ncount = 2\nskip = 1\n',
    )
    # The first backward pass comes before any optimizer is made, so it is a step of its own.
    assert [step.layout.env for step in trace.processes[0].steps] == [None, None, 0, 1, 0, 1]


@pytest.mark.slow
def test_another_number_of_ranks(project: Project) -> None:
    script = (
        "import multiprocessing, os, torch\n"
        "def train(rank):\n"
        "    os.environ['RANK'] = str(rank)\n"
        "    net = torch.nn.Linear(2, 2)\n"
        "    net(torch.ones(1, 2)).sum().backward()\n"
        "    torch.optim.SGD(net.parameters(), lr=0.1).step()\n"
        "context = multiprocessing.get_context('fork')\n"
        "workers = [context.Process(target=train, args=(rank,)) for rank in range(RANKS)]\n"
        "[w.start() for w in workers]\n"
        "[w.join() for w in workers]\n"
    )
    left = recorded(project, script.replace("RANKS", "3"))
    project.script(script.replace("RANKS", "2"))
    project.record("fewer")
    result = project.golden("diff", left.folder, project.root / "fewer" / "train")
    assert result.code == 1
    assert "first divergence: processes that took steps: 3 in base, 2 in head" in result.out
