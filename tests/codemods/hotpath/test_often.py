"""How often a statement runs: what leaves a function early, and loops that are left in their first round."""

from __future__ import annotations

import pytest

from tests.codemods.hotpath.test_other_code import told

TRAIN = """
import torch


class Log:
    def __init__(self, every):
        self.every = every

    def due(self, step):
        return step == 1 or step % self.every == 0

    def always(self, step):
        return step % 1 == 0

    def given(self, step):
        return step > self.every


class Trainer:
    def __init__(self, model, optimizer, loader, log):
        self.model, self.optimizer, self.loader, self.log = model.cuda(), optimizer, loader, {log}
        self.step = 0

    def update(self, x):
        loss = self.model(x.cuda(non_blocking=True)).mean()
        loss.backward()
        self.optimizer.step()
        {guard}
        print(loss.item())

    def fit(self):
        for x in self.loader:
            self.step += 1
            self.update(x)
"""


@pytest.mark.parametrize("log", ["Log(10)", "log"])
@pytest.mark.parametrize(
    ("guard", "heat"),
    [
        ("if not self.log.due(self.step): return", "every-n"),
        ("if self.log.due(self.step): pass\n        else: return", "every-n"),
        ("if self.step % 10: return", "every-n"),
        ("if self.log.due(self.step): return", "step"),
        ("if not self.log.always(self.step): return", "step"),
        ("if not self.log.given(self.step): return", "step"),
        ("if self.step % 1 != 0: return", "step"),
    ],
)
def test_a_guard_that_returns_early_in_a_called_function(guard: str, heat: str, log: str) -> None:
    assert ("HP001", "loss.item()", heat) in told(train=TRAIN.format(guard=guard, log=log))


MEASURE = """
import torch


def measure(loader, model, envs):
    for epoch in range(3):
        for images in loader:
            loss = model(images.cuda(non_blocking=True)).mean()
            loss.backward()
            {code}
"""


@pytest.mark.parametrize(
    ("code", "heat"),
    [
        ("loss.item()", "step"),
        ("loss.item()\n            return", "step"),
        ("loss.item()\n            break", "step"),
        ("if loss is None: continue\n            loss.item()\n            break", "step"),
        ("if loss is None:\n                break\n            loss.item()", "step"),
    ],
)
def test_a_loop_that_is_left_in_its_first_round_is_part_of_what_is_around_it(code: str, heat: str) -> None:
    assert ("HP001", "loss.item()", heat) in told(train=MEASURE.format(code=code))


@pytest.mark.parametrize(
    ("end", "found"),
    [
        ("return", False),
        ("break", False),
        ("if model.training:\n            return\n        else:\n            break", False),
        ("while model.training:\n            continue\n        return", False),
        ("if model.training:\n            continue\n        return", True),
        ("if model.training:\n            return", True),
    ],
)
def test_a_loop_that_is_left_in_its_first_round_is_none(end: str, found: bool) -> None:
    text = f"""
def first(loader, model):
    for images in loader:
        model(images.cuda()).mean().item()
        {end}


def first_of_all(envs):
    for env in envs:
        env.reward.item()
        {end.replace("model.training", "envs")}
"""
    assert {heat for *_, heat in told(train="import torch\n" + text)} == ({"step", "env"} if found else set())
