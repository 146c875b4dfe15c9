"""Loops written by someone who was told the promise and not the rules, with the lines that read marked.

Written before its author had read any of the checker, from knowledge of torch alone, to the sentence "every
read of device data by the host in a hot loop is found, nothing else is". ``# reads`` marks such a line,
``# reads later`` one outside of hot loops; that these read, and no other line does, is what running them on a
simulated GPU says (`test_strangers`). ``# waits``: for the device, without data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from codemods.hotpath.config import Config
from codemods.hotpath.engine import analyse
from codemods.hotpath.trees import File

IMPORTS = """\
import dataclasses
import io
import math
import random
import time

import numpy as np
import torch
from torch import nn


"""
STARTS = ("train", "evaluate", "rollout", "fit", "check")
_MAIN = """

def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = policy = nn.Linear(4, 3).to(device)
    cell = nn.GRUCell(4, 3).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.randn(20, 4), torch.randn(20, 3))
    loader = torch.utils.data.DataLoader(data, batch_size=5)
    env = make_env()
    x0 = torch.ones(2)
    {call}


if __name__ == "__main__":
    main()
"""


@dataclass(frozen=True, slots=True)
class Loop:
    """One of them.

    Attributes:
        code: as written, with its imports.
        reads: lines in hot loops.
        later: lines outside of them.
        waits: lines that wait and read nothing.
    """

    name: str
    code: str
    reads: frozenset[int]
    later: frozenset[int]
    waits: frozenset[int]

    @property
    def script(self) -> str:
        """With a ``main`` that makes what the function is given."""
        called = re.search(rf"^def ((?:{'|'.join(STARTS)})\(.*\)):", self.code, re.MULTILINE)
        assert called is not None
        return self.code + _MAIN.format(call=called[1])


@cache
def loops() -> tuple[Loop, ...]:
    """All of them."""
    text = Path(__file__).with_name("strangers.txt").read_text("utf-8")
    parts = re.split(r"^=== (.*)\n", text, flags=re.MULTILINE)[1:]
    return tuple(map(_loop, parts[::2], parts[1::2]))


def _loop(name: str, code: str) -> Loop:
    code = IMPORTS + code

    def marked(mark: str) -> frozenset[int]:
        return frozenset(n for n, line in enumerate(code.splitlines(), 1) if line.endswith(f"# {mark}"))

    return Loop(name, code, marked("reads"), marked("reads later"), marked("waits"))


SETTINGS = {"as a script": lambda loop: loop.script, "alone": lambda loop: loop.code}


@cache
def reported(loop: Loop, setting: str) -> frozenset[int]:
    """Lines that the checker reports by default or every so many steps; copies to the device left aside."""
    config = Config(heat=("env", "step", "every-n"), ignore=("HP015",))
    report = analyse([File("train.py", SETTINGS[setting](loop).encode(), "train", False)], config)
    return frozenset(finding.place.line for finding in report.findings)
