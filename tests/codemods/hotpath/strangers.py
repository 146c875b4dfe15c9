"""Loops written by someone who was told the promise and not the rules, with the lines that read marked.

Written before its author had read any of the checker, from knowledge of torch alone, to the sentence "every
read of device data by the host in a hot loop is found, nothing else is". ``# reads`` marks such a line,
``# reads later`` one outside of hot loops; that these read, and no other line does, is what running them on a
pretended device says (`test_strangers`). ``# waits``: for the device, without data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from codemods.hotpath.config import Config
from codemods.hotpath.engine import analyse
from codemods.hotpath.trees import File
from tests.codemods.hotpath.page import renew

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


def render_table() -> str:
    """The table of the documentation, with what is missed and what is reported wrongly."""
    lines = ["| setting | reads | seen | recall | false | precision |", "|---|---|---|---|---|---|"]
    lists = []
    for setting in SETTINGS:
        total = seen = false = 0
        for loop in loops():
            found = reported(loop, setting)
            total, seen = total + len(loop.reads), seen + len(loop.reads & found)
            wrong = found - loop.reads - loop.waits
            false += len(wrong)
            text = loop.code.splitlines()
            for sort, numbers in (("missed", loop.reads - found), ("no read", wrong)):
                lists += [
                    f"- {setting}, {sort}: {loop.name}: `{_plain(text[n - 1])}`" for n in sorted(numbers)
                ]
        recall, precision = seen / total, seen / (seen + false)
        lines.append(f"| {setting} | {total} | {seen} | {recall:.3f} | {false} | {precision:.3f} |")
    clean = sum(not loop.reads for loop in loops())
    lines += ["", f"{len(loops())} loops, {clean} of them without a read in a hot loop.", ""]
    return "\n".join([*lines, *lists]) + "\n"


def _plain(line: str) -> str:
    return line.partition("  # ")[0].strip()


if __name__ == "__main__":
    renew("strangers", render_table())
