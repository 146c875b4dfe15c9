"""The forms: what torch's dispatcher says of each, and how the checker does on them."""

from __future__ import annotations

import copy
import logging
import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)

from tests.codemods.hotpath.forms import SETTINGS, Form, forms, reported

_NEEDS = {"annotated": (0.97, 0.97), "parameters of a function that nothing calls": (0.3, 0.97)}
_UNANNOTATED = (0.85, 0.97)


@pytest.fixture(scope="module")
def probe() -> Iterator[Any]:
    """Runs a form over tensors without data: whether torch asks for a value, or for a shape by values."""

    def run(form: Form) -> bool:
        with FakeTensorMode(), torch.no_grad():
            names: dict[str, Any] = {
                "copy": copy,
                "logging": logging,
                "math": math,
                "operator": operator,
                "np": np,
                "torch": torch,
                "F": F,
                "x": torch.empty(4, 4),
                "v": torch.empty(4),
                "s": torch.empty(()),
                "m": torch.empty(4, 4, dtype=torch.bool),
                "i": torch.empty((), dtype=torch.int64),
                "net": torch.nn.Sequential(torch.nn.Linear(4, 4)),
                "device": torch.device("cpu"),
                "n": 3,
                "rows": [],
                "names": ["a", "b"],
            }
            try:
                exec(form.code, names)
            except (DataDependentOutputException, DynamicOutputShapeException):
                return True
            return False

    return run


@pytest.mark.slow
@pytest.mark.parametrize("form", [f for f in forms() if f.told == "dispatcher"], ids=lambda form: form.code)
def test_the_dispatcher_says_the_same(form: Form, probe: Any) -> None:
    assert probe(form) == form.waits


@pytest.mark.parametrize("setting", SETTINGS)
def test_recall_and_precision(setting: str) -> None:
    seen = {form: reported(form, setting) for form in forms()}
    waits = sum(form.waits for form in forms())
    found = sum(form.waits and seen[form] for form in forms())
    alarms = [form.code for form in forms() if seen[form] and not form.waits]
    recall, precision = _NEEDS.get(setting, _UNANNOTATED)
    assert found / waits >= recall, [form.code for form in forms() if form.waits and not seen[form]]
    assert found / (found + len(alarms)) >= precision, alarms


def test_there_are_many() -> None:
    assert len(forms()) * len(SETTINGS) >= 300
    assert len({form.code for form in forms()}) == len(forms())
