"""Where the host waits: every way, by line, kind and count, as PyTorch's sources have it."""

from __future__ import annotations

from pathlib import Path

from tests.golden.simulated.child import counted, expected, seen

EVERY_WAY = """
import torch, torch.nn.functional as F
host = torch.arange(12.0).reshape(3, 4)
x = host.to("cuda")  #: 1 copy to the device
host.to("cuda", non_blocking=True)
pin = host.pin_memory()
pin.to("cuda")  #: 1 copy to the device
pin.to("cuda", non_blocking=True)
torch.empty(0).to("cuda")
two = torch.tensor([1.0, 2.0], device="cuda")  #: 1 copy to the device
torch.as_tensor([1.0], device="cuda")  #: 1 copy to the device
x.new_tensor([1.0])  #: 1 copy to the device
torch.full((3,), 2.0, device="cuda"); torch.ones_like(host, device="cuda"); x.new_zeros(3)
five = torch.arange(5, device="cuda")
x.sum().item()  #: 1 item
float(x.sum()), int(x.sum())  #: 2 item
if x.sum() > 0: pass  #: 1 truth
[1, 2][five[1]]  #: 1 index
exec("def of(tensor): return tensor.item()"); of(x.sum())  #: 1 item
x.tolist()  #: 1 tolist
x.cpu(); x.to("cpu")  #: 2 copy to the host
x.to("cpu", non_blocking=True)
x.nonzero()  #: 1 nonzero
torch.where(x > 3)  #: 1 nonzero
torch.where(x > 3, x, 0.0)
torch.where(x > 3, x, torch.tensor(0.0))  #: 1 copy to the device
x[x > 3]  #: 1 mask
torch.masked_select(x, x > 3)  #: 1 nonzero
y = x.clone(); y[x > 3] = 0.0
y[x > 3] = two[0]  #: 1 mask
y[x > 3] = 0.0; y[x[:, 0] > 3, 0] = 0.0
y[five[:2], five[:2]] = 0.0; y[five[1]] = 0.0  #: 1 copy to the device, 1 item
y[[0, 1]] = 0.0  #: 2 copy to the device
x[torch.tensor([0, 1])]  #: 1 copy to the device
x[five[:2]]
x[five[1]]  #: 1 item
torch.unique(five)  #: 1 unique
torch.unique(five[:0])
sparse = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), torch.ones(2))
sparse = sparse.cuda()  #: 2 copy to the device
torch.spmm(sparse, x[:2]), torch.spmm(sparse.coalesce(), x[:2])  #: 2 unique
torch.bincount(five)  #: 2 bincount
torch.repeat_interleave(five, five)  #: 1 repeat_interleave
torch.repeat_interleave(five, five, output_size=10); torch.repeat_interleave(five, 2)
torch.multinomial(F.softmax(x, 1), 1)  #: 2 multinomial
torch.normal(x, x.abs())  #: 1 normal
torch.normal(0.0, 1.0, (3,), device="cuda")
eye = torch.eye(3, device="cuda")
torch.linalg.inv(eye), torch.linalg.eigh(eye), torch.linalg.svd(eye), torch.linalg.eig(eye)  #: 4 linalg
torch.linalg.pinv(eye), torch.linalg.matrix_rank(eye)  #: 2 linalg
eye.to_sparse_csr()  #: 2 nonzero
torch.allclose(x, x), torch.equal(x, x.clone()), torch.equal(x, x)  #: 2 item
host.copy_(x)  #: 1 copy to the host
x.copy_(host)  #: 1 copy to the device
x.copy_(pin, non_blocking=True)
print(x)  #: 1 print
f"{x.sum():.1f}"  #: 1 item
for row in x: pass
F.one_hot(five, 5); torch.nn.utils.rnn.pad_sequence([five, five[:2]]); x.sort(); x.topk(2)
torch.cuda.synchronize(); torch.cuda.current_stream().synchronize()  #: 2 synchronize
torch.distributions.Normal(x, 1.0)  #: 2 truth, 1 copy to the device
net = torch.nn.Linear(4, 2).to("cuda")  #: 2 copy to the device
net(x).sum().backward()
torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
net(x)[x[:, 0] > 1].sum().backward()  #: 2 mask
torch.optim.Adam(net.parameters()).step()
"""

STEPS = """
import torch
from torch import nn

def loss_of(net, x, y):
    return nn.functional.cross_entropy(net(x), y)

net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.to("cuda")
for step in range(8):
    x, y = torch.randn(16, 4).to("cuda"), torch.zeros(16, dtype=torch.long, device="cuda")
    loss = loss_of(net, x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.distributions.Categorical(logits=net(x))
    if step % 4 == 0:
        print(step, loss.item())
"""


NUMBERS = """
import torch
x = torch.ones(3, 4).cuda()  #: 1 copy to the device
three, four = torch.tensor([3, 4], device="cuda")  #: 1 copy to the device
torch.zeros(three)  #: 1 item
torch.full((3,), three)  #: 1 item
x.repeat(1, three)  #: 1 item
x[:, :1].expand(3, three)  #: 1 item
x.view(four, three)  #: 2 item
torch.add(x, 1, alpha=three)  #: 1 item
x * three, x + torch.tensor(1.0)
"""


DEFAULT_TYPE = """
import torch
host = torch.ones(2)
x = host.cuda()  #: 1 copy to the device
assert torch.Tensor(x).data_ptr() == x.data_ptr() and not torch.Tensor([1.0]).is_cuda
torch.set_default_tensor_type("torch.cuda.FloatTensor")
x + torch.Tensor([1e10]).expand(2)  #: 1 copy to the device
torch.nn.Linear(3, 2)(torch.Tensor(x[:1].expand(3))) + torch.Tensor(2)
x[[0, 1]]  #: 1 copy to the device
assert torch.Tensor(x).is_cuda and not torch.Tensor(host).is_cuda
torch.set_default_tensor_type("torch.FloatTensor")
assert not torch.Tensor([1.0]).is_cuda
"""


def test_tensors_without_a_device_are_of_the_default_type(tmp_path: Path) -> None:
    found = seen(tmp_path, DEFAULT_TYPE)
    assert counted(found) == expected(DEFAULT_TYPE)
    assert not any(sync.call for sync in found.syncs)


def test_a_tensor_that_stands_for_a_number_is_read(tmp_path: Path) -> None:
    assert counted(seen(tmp_path, NUMBERS)) == expected(NUMBERS)


def test_every_way_to_wait_is_counted_at_its_line_and_nothing_else_is(tmp_path: Path) -> None:
    assert counted(seen(tmp_path, EVERY_WAY)) == expected(EVERY_WAY)


def test_syncs_are_told_with_their_function_call_and_windows(tmp_path: Path) -> None:
    found = seen(tmp_path, STEPS)
    assert found.steps == 8
    rows = {sync.kind: sync for sync in found.syncs if sync.count != 2 or sync.kind == "item"}
    assert (rows["copy to the device"].count, rows["copy to the device"].windows) == (8, 8)
    assert (rows["item"].count, rows["item"].windows, rows["item"].function) == (2, 2, "<module>")
    assert rows["truth"].call == "torch.distributions.categorical.Categorical.__init__"
    moved = next(sync for sync in found.syncs if sync.text == 'net.to("cuda")')
    assert (moved.count, moved.windows) == (2, 1)
    assert {sync.file for sync in found.syncs} == {"train.py"}
