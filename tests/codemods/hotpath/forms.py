"""Forms of code that do, or don't, make the host wait for the device; each in four settings.

A form is a statement over ``x`` (a matrix of numbers on the device), ``v`` (a vector), ``m`` (a matrix of
booleans), ``s`` (a number without dimensions), ``i`` (an index without dimensions), ``net`` (a module), ``n``
(a Python number), ``rows`` (a list), ``names`` (texts) and ``device``. Whether it waits is what torch's
dispatcher says where it can tell (`test_forms`), else what torch's documentation and source do.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from codemods.hotpath.config import Config
from codemods.hotpath.engine import analyse
from codemods.hotpath.trees import File
from tests.codemods.hotpath.page import renew


@dataclass(frozen=True, slots=True)
class Form:
    """One statement.

    Attributes:
        waits: whether the host waits.
        told: what that is known from: the dispatcher, or torch's documentation and source.
    """

    code: str
    waits: bool
    told: str = "dispatcher"


def _forms(text: str, waits: bool, told: str = "dispatcher") -> list[Form]:
    return [Form(line, waits, told) for line in textwrap.dedent(text).strip().splitlines()]


FORMS: tuple[Form, ...] = (
    *_forms(
        """
        y = s.item()
        y = x.sum().item()
        y = float(s)
        y = int(i)
        y = bool(s)
        y = float(x.mean())
        y = round(float(s), 3)
        y = math.sqrt(s)
        y = max(s, 0.0)
        y = min(s, v.sum())
        y = 1 if s > 0 else 2
        y = s > 0 and n > 1
        y = not s
        y = any(v > 0)
        y = sorted([s, v.sum()])
        y = s in [1.0, 2.0]
        y = [0] * i
        y = operator.index(i)
        y = range(i)
        y = names[i]
        y = x.nonzero()
        y = torch.nonzero(m)
        y = x[m]
        y = x[x > 0]
        y = torch.masked_select(x, m)
        y = torch.where(m)
        y = torch.unique(v)
        y = v.unique()
        y = torch.argwhere(m)
        y = torch.equal(x, x)
        y = torch.is_nonzero(s)
        y = x[:i]
        y = x.view(i, -1)
        y = x.reshape(i, -1)
        y = x.expand(i)
        y = torch.topk(v, i)
        y = x.narrow(0, i, 1)
        y = torch.split(v, i)
        y = x.repeat(i, 1)
        y = torch.zeros(i)
        y = torch.zeros(i, device=device)
        y = torch.full((i,), 0.0, device=device)
        y = torch.arange(i)
        y = torch.randint(0, i, (2,))
        y = v.add(v, alpha=s)
        y = F.pad(v, (i, 0))
        y = F.dropout(x, p=s)
        y = x.roll(i)
        y = v.chunk(i)
        y = torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=s)
        """,
        True,
    ),
    *_forms(
        """
        y = x.numpy(force=True)
        y = torch.tensor([s, s])
        y = x.tolist()
        y = x.cpu()
        y = x.detach().cpu().numpy()
        y = x.to("cpu")
        y = x.to(torch.device("cpu"))
        y = torch.multinomial(torch.softmax(x, 1), 1)
        y = torch.allclose(x, x)
        y = torch.bincount(v.long())
        y = torch.repeat_interleave(v, v.long())
        y = torch.histc(v)
        y = F.one_hot(v.long())
        y = torch.linalg.inv(x)
        y = torch.linalg.solve(x, v)
        y = x.inverse()
        y = torch.distributions.Normal(s, s.exp())
        y = torch.distributions.Categorical(logits=x)
        print(s)
        print(f"loss {s}")
        print(f"loss {s:.3f}")
        y = "%s" % s
        y = str(x)
        y = "{}".format(s)
        logging.info("loss %s", s)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.save(net.state_dict(), "x.pt")
        y = torch.tensor([1.0, 2.0], device=device)
        y = torch.tensor([1.0, 2.0]).to(device)
        y = torch.zeros(2).cuda()
        y = torch.from_numpy(np.zeros(2)).to(device)
        assert s > 0
        y = x.masked_fill(m, s)
        y = x.item() if x.numel() == 1 else x.mean().item()
        """,
        True,
        "documentation",
    ),
    *_forms(
        """
        y = x.sum()
        y = x.mean().detach()
        y = x + s
        y = x * n
        y = x @ x
        y = torch.where(m, x, 0.0)
        y = x.masked_fill(m, 0.0)
        y = torch.stack([x, x])
        y = torch.cat([x, x])
        y = x.shape[0]
        y = x.size(0)
        y = float(x.size(0))
        y = x.numel()
        y = x.dim()
        y = len(x)
        y = x.is_cuda
        y = x.is_floating_point()
        y = x.is_signed()
        y = x.is_contiguous()
        y = torch.is_complex(x)
        y = torch.is_tensor(x)
        y = torch.is_floating_point(x)
        y = x.requires_grad
        y = x.dtype == torch.float32
        y = x is None
        y = 1 if x is None else 2
        y = 1 if x.shape[0] > 2 else 2
        y = isinstance(x, torch.Tensor)
        y = x.argmax(dim=-1)
        y = torch.zeros(2, device=device)
        y = torch.zeros_like(x)
        y = x.new_zeros(2)
        y = torch.full((2,), 1.0, device=device)
        y = torch.zeros(2)
        y = x.to(torch.float64)
        y = x.half()
        y = x[0]
        y = x[:, 0]
        y = x[:n]
        y = x.view(-1)
        y = x.view(2, -1)
        y = x.gather(1, v.long()[:, None])
        y = x.index_select(0, v.long())
        y = x.clamp(min=0)
        y = x.max(dim=0)
        y = torch.max(x, x)
        y = torch.sort(v)
        y = torch.topk(v, 2)
        y = torch.isnan(x).any()
        y = (x > 0).float().mean()
        y = m.sum()
        y = net(x)
        y = net(x).sum()
        y = F.mse_loss(x, x)
        y = F.one_hot(v.long(), num_classes=5)
        y = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        y = torch.linalg.inv_ex(x)
        y = copy.copy(x)
        y = [x, x]
        y = {"x": x}
        y = list(net.parameters())
        y = [name for name, _ in net.named_children() if name == "a"]
        y = torch.randn(2, device=device)
        y = torch.rand(2)
        y = torch.arange(n)
        y = torch.tensor([1.0, 2.0])
        y = np.zeros(2).tolist()
        y = np.float32(n).item()
        y = sum([s, s])
        y = abs(s)
        y = s ** 2
        y = x.split(2)
        y = x.chunk(2)
        y = torch.einsum("ij,ij->i", x, x)
        y = x.T
        y = hasattr(x, "shape")
        y = id(x)
        y = max(n, 1)
        y = float(n)
        y = math.sqrt(n)
        y = rows.count(1)
        y = f"{x.shape}"
        y = str(x.dtype)
        rows.append(x)
        """,
        False,
    ),
    *_forms(
        """
        y = x.to("cpu", non_blocking=True)
        y = torch.tensor([1.0, 2.0]).sum().item()
        y = torch.ones(2).tolist()
        y = float(torch.ones(1))
        y = torch.nonzero(torch.ones(2))
        y = x.device.type == "cuda"
        """,
        False,
        "documentation",
    ),
)

_IMPORTS = """\
import copy, logging, math, operator
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
"""
_NET = """
class Net({base}):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        return self.a(x)
"""
_ORIGIN = """
    device = torch.device("cuda")
    net = Net().to(device)
    data = torch.randn(4, 4).to(device)
    rows, names, n = [], ["a", "b"], 3
    for step in range(num_steps):
        x = net(data)
        v, m, s, i = x[0], x > 0, x.mean(), x[0].argmax()
        s.backward()
"""
_PARAMETERS = "x, v, m, s, i, net, n, rows, names, device"
_ANNOTATED = (
    "x: Tensor, v: Tensor, m: torch.BoolTensor, s: Tensor, i: Tensor, net: nn.Module, n: int, rows: list, "
    "names: list[str], device: torch.device"
)


def annotated(form: Form) -> dict[str, str]:
    """In a loop over environments, with annotations."""
    return {
        "train": f"{_IMPORTS}\ndef run({_ANNOTATED}):\n    for env_idx in range(n):\n        {form.code}\n"
    }


def unannotated(form: Form) -> dict[str, str]:
    """In a loop over steps of a function without annotations; the tensors come from a network."""
    net = _NET.format(base="nn.Module")
    return {"train": f"{_IMPORTS}{net}\n\ndef main(num_steps):{_ORIGIN}        {form.code}\n"}


def helper(form: Form) -> dict[str, str]:
    """The same, in a function of another module, by positional arguments."""
    net = _NET.format(base="nn.Module")
    main = f"{_IMPORTS}import helpers\n{net}\n\ndef main(num_steps):{_ORIGIN}"
    return {
        "train": f"{main}        helpers.work({_PARAMETERS})\n",
        "helpers": f"{_IMPORTS}\n\ndef work({_PARAMETERS}):\n    {form.code}\n    return n\n",
    }


def container(form: Form) -> dict[str, str]:
    """The same, kept in a dict, in fields of an object and in a list in between."""
    net = _NET.format(base="nn.Module")
    keep = (
        '        self_ = Box(x, v)\n        box = {"m": m, "s": s}\n        kept = []\n'
        "        kept.append(i)\n"
        '        x, v, m, s, i = self_.x, self_.v, box["m"] > 0, box["s"], kept[-1]\n'
    )
    box = "\n\nclass Box:\n    def __init__(self, x, v):\n        self.x = x\n        self.v = v\n"
    return {"train": f"{_IMPORTS}{net}{box}\n\ndef main(num_steps):{_ORIGIN}{keep}        {form.code}\n"}


def nowhere(form: Form) -> dict[str, str]:
    """In a function without annotations that nothing seen calls: only its own text can tell."""
    body = f"    for batch in loader:\n        {form.code}\n"
    return {"train": f"{_IMPORTS}\ndef run({_PARAMETERS}, loader):\n{body}"}


SETTINGS = {
    "annotated": annotated,
    "without annotations": unannotated,
    "in a helper of another module": helper,
    "through containers": container,
    "parameters of a function that nothing calls": nowhere,
}


def reported(form: Form, setting: str) -> bool:
    """Whether the checker reports the form there."""
    texts = SETTINGS[setting](form)
    files = [File(f"{name}.py", text.encode(), name, False) for name, text in texts.items()]
    place = [(path.path, number) for path in files for number, line in _lines(path) if line == form.code]
    report = analyse(files, Config())
    assert report.loops, "the loop is hot"
    return any((finding.place.path, finding.place.line) in place for finding in report.findings)


def _lines(file: File) -> list[tuple[int, str]]:
    return [(number, line.strip()) for number, line in enumerate(file.data.decode().splitlines(), 1)]


def render_table() -> str:
    """The table of the documentation, with what is missed and what is reported wrongly."""
    lines = [
        "| setting | waits | seen | recall | harmless | reported | precision |",
        "|---|---|---|---|---|---|---|",
    ]
    lists: list[str] = []
    for setting in SETTINGS:
        seen = {form: reported(form, setting) for form in FORMS}
        waits = [form for form in FORMS if form.waits]
        found = [form for form in waits if seen[form]]
        alarms = [form for form in FORMS if not form.waits and seen[form]]
        recall, precision = len(found) / len(waits), len(found) / (len(found) + len(alarms))
        cells = [setting, len(waits), len(found), f"{recall:.3f}", len(FORMS) - len(waits), len(alarms)]
        lines.append(f"| {' | '.join(map(str, cells))} | {precision:.3f} |")
        missed = ", ".join(f"`{form.code}`" for form in waits if not seen[form])
        lists += [f"- {setting}, missed: {missed}"] if missed else []
        lists += [f"- {setting}, no stall: `{form.code}`" for form in alarms]
    dispatched = sum(form.told == "dispatcher" for form in FORMS)
    lines += [
        "",
        f"{len(FORMS)} forms in {len(SETTINGS)} settings; of {dispatched} the truth is what torch's "
        "dispatcher says in a test, of the others what its documentation and source do.",
        "",
    ]
    lines += lists
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    renew("forms", render_table())
