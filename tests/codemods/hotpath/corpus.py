"""The corpus: programs with stalls marked, and how the checker does on them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from codemods.hotpath.config import Config
from codemods.hotpath.engine import analyse
from codemods.hotpath.trees import File

HEADER = """\
import copy, functools, logging, math, operator, os, pickle
from dataclasses import dataclass
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
"""
_MARK = re.compile(r"# stall: (HP\d+)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A snippet with the stalls that it has and those that were reported, as (line, code)."""

    way: str
    name: str
    missed: str | None
    code: str
    stalls: frozenset[tuple[int, str]]
    found: frozenset[tuple[int, str]]


@cache
def outcomes() -> tuple[Outcome, ...]:
    """What the checker says of each snippet."""
    text = Path(__file__).with_name("corpus.toml").read_text("utf-8")
    return tuple(_check(snippet) for snippet in tomllib.loads(text)["snippet"])


def _check(snippet: dict[str, str]) -> Outcome:
    code = HEADER + snippet["code"]
    stalls = {
        (number, match[1])
        for number, line in enumerate(code.splitlines(), 1)
        for match in _MARK.finditer(line)
    }
    report = analyse([File("snippet.py", code.encode(), "snippet", False)], Config())
    found = {(finding.place.line, finding.code) for finding in report.findings}
    return Outcome(
        snippet["way"],
        snippet["name"],
        snippet.get("missed"),
        snippet["code"],
        frozenset(stalls),
        frozenset(found),
    )
