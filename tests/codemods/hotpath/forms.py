"""Forms of code that do, or don't, make the host wait for the device; each in four settings.

A form is a statement over ``x`` (a matrix of numbers on the device), ``v`` (a vector), ``m`` (a matrix of
booleans), ``s`` (a number without dimensions), ``i`` (an index without dimensions), ``net`` (a module), ``n``
(a Python number), ``rows`` (a list), ``names`` (texts) and ``device``. Whether it waits is what torch's
dispatcher says where it can tell (`test_forms`), else what torch's documentation and source do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from codemods.hotpath.config import Config
from codemods.hotpath.engine import analyse
from codemods.hotpath.trees import File


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


@cache
def forms() -> tuple[Form, ...]:
    """All of them, from forms.txt."""
    text = Path(__file__).with_name("forms.txt").read_text("utf-8")
    parts = re.split(r"^=== (.*)\n", text, flags=re.MULTILINE)[1:]
    return tuple(
        Form(line, head.startswith("waits"), head.rpartition(" ")[2])
        for head, lines in zip(parts[::2], parts[1::2], strict=True)
        for line in lines.splitlines()
        if line
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
