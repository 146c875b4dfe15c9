"""A program computes on a simulated device what it computes on the CPU, to the bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from golden.simulated.child import run
from tests.golden.simulated.child import seen

SOURCE = """
import copy, io, sys, torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
told = open(sys.argv[1], "w")

def tell(name, *tensors):
    for tensor in tensors:
        print(name, tensor.detach().double().cpu().numpy().tobytes().hex(), file=told)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.lstm, self.gru = nn.LSTM(8, 8, batch_first=True), nn.GRU(8, 8, batch_first=True)
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)
        self.head = nn.Linear(8, 4)
        self.embedding = nn.Embedding(4, 8)

    def forward(self, x, y):
        x = F.max_pool2d(F.gelu(self.norm(self.conv(x))), 2).flatten(2).transpose(1, 2)
        x = x + self.embedding(y)[:, None]
        x = self.gru(self.lstm(x)[0])[0]
        x = x + F.scaled_dot_product_attention(x, x, x, is_causal=True)
        return self.head(F.dropout(self.attention(x, x, x)[0].mean(1), 0.3, self.training))

net = Net()
early = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
net = net.to(device)
teacher = copy.deepcopy(net).requires_grad_(False)
late = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(3):
    x, y = torch.randn(4, 3, 10, 10).to(device), torch.randint(4, (4,), device=device)
    out = net(x, y)
    with torch.inference_mode():
        target = teacher(x, y).softmax(1)
    loss = F.cross_entropy(out, y) + F.kl_div(out.log_softmax(1), target.clone(), reduction="batchmean")
    for optimizer in (early, late):
        optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    early.step(); late.step()
    for a, b in zip(teacher.parameters(), net.parameters()):
        a.data.mul_(0.9).add_(b.data, alpha=0.1)
    tell("loss", loss)
    sampled = torch.distributions.Categorical(logits=out.detach()).sample()
    tell("sampled", sampled, torch.randn_like(out), torch.rand(3, device=device))
tell("parameters", *net.parameters(), *net.buffers())

file = io.BytesIO()
torch.save({"net": net.state_dict(), "optimizer": late.state_dict()}, file)
file.seek(0)
kept = torch.load(file, map_location=device)
other = Net().to(device)
other.load_state_dict(kept["net"])
tell("loaded", *other.parameters())
torch.save(net.state_dict(), sys.argv[2])

x = torch.arange(6.0, device=device, requires_grad=True)
z = x.reshape(2, 3).t().contiguous()
z[0] *= 2; z[:, 1].add_(1); z.unsqueeze_(0).squeeze_(0); z.t_()
(z ** 2).sum().backward()
tell("views", z, x.grad)
old = torch.autograd.Variable(x.detach())[1::2].contiguous()
tell("old", old, old + x.detach()[:3])
back = (x.cpu() * 3).sum(); back.backward(); tell("across", x.grad)
p = nn.Parameter(torch.ones(3)); p.data = p.data.to(device); p.data = p.data * 2; tell("data", p)
tell("out", torch.add(x.detach(), 1, out=torch.empty(6, device=device)), torch.eye(3, device=device).double())
with torch.device(device):
    tell("context", torch.zeros(3) + nn.Linear(2, 2).weight.sum())
tell("vmap", torch.func.vmap(lambda r: r * 2)(x.detach()[None]))
tell("grad", torch.func.grad(lambda v: (v**2).sum())(x.detach()))
tell("hessian", torch.func.hessian(lambda v: v.tanh().sum())(x.detach()))
gather = torch.zeros(3, 4, device=device).scatter_(1, torch.tensor([[1], [2], [0]], device=device), 1.0)
tell("scatter", gather, F.one_hot(torch.arange(3, device=device), 4), torch.tensor([x[0], x[1]]))
swapped = torch.tensor([[0, 1], [1, 0]], device=device)
sparse = torch.sparse_coo_tensor(swapped, x[:2], (2, 2))
tell("sparse", sparse.to_dense(), torch.sparse.mm(sparse, torch.ones(2, 1, device=device)))
net = nn.DataParallel(nn.Linear(6, 2)).to(device)
inner = x[None] * 2
(net(inner) + net(torch.ones(1, 6))).sum().backward(); tell("parallel", net.module.weight.grad, x.grad)
"""


@pytest.mark.slow
def test_values_are_those_of_the_cpu_and_files_load_without_golden(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SOURCE)
    subprocess.run([sys.executable, "train.py", "cpu.txt", "cpu.pt"], cwd=tmp_path, check=True)
    command = ["python", "train.py", "simulated.txt", "simulated.pt"]
    assert run(command, root=tmp_path, out=tmp_path / "out", devices=1) == 0
    told = (tmp_path / "simulated.txt").read_text()
    assert len(told.splitlines()) > 60
    assert told == (tmp_path / "cpu.txt").read_text()
    load = (
        "import torch; a = torch.load('simulated.pt', map_location='cpu'); b = torch.load('cpu.pt'); "
        "assert list(a) == list(b) and all(torch.equal(a[k], b[k]) for k in a)"
    )
    subprocess.run([sys.executable, "-c", load], cwd=tmp_path, check=True)


AS_ON_A_GPU = """
import copy, io, torch
from torch import nn
x = torch.arange(12.0, device="cuda").reshape(3, 4)
pair = copy.deepcopy([x, x[1:]])
pair[0].zero_()
assert pair[1].eq(0).all() and x.sum() == 66
p = nn.Parameter(x.clone())
p.tag = 1
p.grad = x.clone()
q = copy.deepcopy(p)
assert not hasattr(q, "tag") and q.grad is None and isinstance(q, nn.Parameter) and q.is_cuda
assert nn.Linear(1, 1).to(0).weight.is_cuda and nn.Linear(1, 1).to(device=0).weight.is_cuda
with torch.inference_mode():
    assert nn.Linear(2, 2).to("cuda").weight.is_cuda
h = torch.zeros(3)
assert h.type_as(x).is_cuda and not x.type_as(h).is_cuda
assert x.new([1.0]).is_cuda and x.new(2, 3).shape == (2, 3)
assert all(row.is_cuda for row in x)
e = torch.cuda.Event()
e.record()
polls = 0
while not e.query():
    polls += 1
assert polls < 3
torch.set_default_device("cuda")
with torch.device("cpu"):
    assert not torch.zeros(1).is_cuda
assert torch.zeros(1).is_cuda
torch.set_default_device("cpu")

def loaded(value, **how):
    f = io.BytesIO()
    torch.save(value, f)
    f.seek(0)
    return torch.load(f, **how)

assert loaded(h, map_location=lambda s, loc: s.cuda()).is_cuda
x.tag = [2]
again, kept = loaded([p, x])
assert again.tag == 1 and isinstance(again, nn.Parameter) and again.is_cuda and again.equal(p)
assert kept.tag == [2] and kept.is_cuda and kept.equal(x)
kept, = copy.deepcopy([x])
assert kept.tag == [2] and kept.tag is not x.tag
net = torch.compile(nn.Sequential(nn.Linear(4, 2)).cuda())
assert list(net.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"] and net(x).is_cuda
assert x.share_memory_() is x
torch.manual_seed(0)
a = torch.randn(16, 16)
for of in (torch.linalg.svdvals, torch.linalg.eigvalsh):
    assert of(a.cuda()).cpu().equal(of(a))
before = torch.cuda.memory_allocated()
big = torch.zeros(1 << 20, device="cuda")
big.untyped_storage().resize_(0)
assert torch.cuda.memory_allocated() == before
"""


def test_copies_devices_and_events_are_as_on_a_gpu(tmp_path: Path) -> None:
    seen(tmp_path, AS_ON_A_GPU)
