"""Mistakes with devices are errors, as on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.simulated.child import seen

TEN = """
import torch, torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
x = torch.randn(4, 8); i = torch.tensor([0, 1, 2, 3]); d = torch.randn(4, 8, device="cuda")
net = nn.Linear(8, 4).cuda()
forgotten = {
    "a batch": lambda: net(x),
    "a batch of sequences": lambda: net(torch.randn(2, 3, 8)),
    "labels": lambda: F.cross_entropy(net(d), i),
    "an addend": lambda: d + x,
    "a mask": lambda: d.masked_fill(x > 0, 0.0),
    "a state": lambda: nn.LSTM(8, 4).cuda()(d[None], (torch.zeros(1, 4, 4), torch.zeros(1, 4, 4))),
    "a part": lambda: torch.cat([d, x]),
    "a module": lambda: nn.Linear(8, 4)(d),
    "indices": lambda: F.embedding(i, torch.randn(4, 3, device="cuda")),
    "a target in place": lambda: d.clone().add_(x),
    "a choice": lambda: torch.where(d > 0, d, x),
    "columns": lambda: torch.gather(d, 1, i[:, None]),
}
for name, call in forgotten.items():
    try:
        call()
    except RuntimeError as error:
        assert "Expected all tensors to be on the same device" in str(error), (name, error)
    else:
        raise SystemExit(f"no error: {name}")
allowed = [d + 1.0, d * torch.tensor(2.0), d[i], d[x > 0], d.clone().copy_(x), torch.where(d > 0, d, 0.0)]
assert all(tensor.is_cuda for tensor in allowed)

def refused(kind, said, call):
    try:
        call()
    except kind as error:
        assert said in str(error), error
    else:
        raise SystemExit(f"no error: {said}")

import numpy
refused(TypeError, "can't convert cuda:0 device type tensor to numpy", lambda: d.numpy())
refused(TypeError, "can't convert cuda:0 device type tensor to numpy", lambda: numpy.asarray(d))
here, there = torch.Generator(), torch.Generator("cuda")
refused(RuntimeError, "'cuda' device type", lambda: torch.randn(2, device="cuda", generator=here))
refused(RuntimeError, "'cpu' device type", lambda: torch.randn(2, generator=there))
refused(IndexError, "", lambda: F.embedding(i.cuda() + 9, torch.randn(4, 3, device="cuda")))
refused(RuntimeError, "invalid device ordinal", lambda: d.to("cuda:2"))
refused(RuntimeError, "found at least two devices, cuda:0 and cuda:1", lambda: d + d.to("cuda:1"))
assert d.to("cuda:1").device == torch.device("cuda:1") and torch.cuda.device_count() == 2
"""

SINGLE = """
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
h, d, i = torch.randn(4, 3), torch.randn(4, 3, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")
w = torch.nn.Parameter(torch.ones(3, device="cuda"))

def refused(said, call, *arguments):
    try:
        call(*arguments)
    except (RuntimeError, TypeError) as error:
        assert said in str(error), error
    else:
        raise SystemExit(f"no error: {said}")

picture, net = torch.ones(1, 3, 8, 8), torch.nn.Conv2d(3, 2, 3)
refused("Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
        net, picture.cuda())
refused("Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same or input "
        "should be a MKLDNN tensor and weight is a dense tensor", net.cuda(), picture)
theirs = "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
refused(theirs, lambda: h[d > 0])
refused(theirs, lambda: h[i])
refused(theirs, h.__setitem__, i, 1.0)
for index in (i, d[:, 0] > 0):
    refused("Expected all tensors to be on the same device", d.__setitem__, index, h[:1])
refused("Expected all tensors to be on the same device", h.__setitem__, torch.tensor([0]), d[:1])
refused("Expected all tensors to be on the same device", torch.stack, [d[0, 0], h[0, 0]])
refused("invalid gradient at index 0 - expected device cuda:0 but got cpu", (w * 2).backward, torch.ones(3))
refused("assign a gradient with device type 'cpu' to a tensor", setattr, w, "grad", torch.ones(3))
(w * 2).sum().backward(torch.tensor(1.0))
h[torch.tensor([0])] = d[0, 0]
assert not h.is_cuda and w.grad.is_cuda

x = torch.randn(3, 7, 3, device="cuda")
lengths = torch.tensor([2, 7, 5])
refused("'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
        lambda: pack_padded_sequence(x, lengths.cuda(), True, False))
found, found_lengths = pad_packed_sequence(pack_padded_sequence(x, lengths, True, False), True)
assert found.is_cuda and not found_lengths.is_cuda and found_lengths.equal(lengths)

class Held(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, at):
        return float(d[at, 0])

loader = torch.utils.data.DataLoader(Held(), num_workers=1)
refused("Cannot re-initialize CUDA in forked subprocess", list, loader)
"""

EARLY = """
import torch
d = torch.ones(4, device="cuda")
early = d.to("cpu", non_blocking=True)
for read in (lambda: early.sum(), lambda: early.numpy(), lambda: early.tolist(), lambda: float(early[0])):
    try:
        read()
    except RuntimeError as error:
        assert "train.py:5" in str(error) and "train.py:4" in str(error), error
    else:
        raise SystemExit("no error")
done = torch.cuda.Event()
done.record()
done.synchronize()
assert early.sum() == 4 and early.numpy().sum() == 4 and early.tolist() == [1.0] * 4

kept = torch.zeros(4).pin_memory()
kept.copy_(d, non_blocking=True)
assert kept.isnan().all()
torch.cuda.synchronize()
assert kept.eq(1).all()
"""


def test_each_tensor_that_was_forgotten_on_the_host_is_an_error(tmp_path: Path) -> None:
    seen(tmp_path, TEN, devices=2)


def test_what_single_functions_refuse_is_an_error(tmp_path: Path) -> None:
    seen(tmp_path, SINGLE)


@pytest.mark.slow
def test_what_has_not_arrived_on_the_host_can_not_be_read(tmp_path: Path) -> None:
    seen(tmp_path, EARLY)
