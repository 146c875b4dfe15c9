"""What is new between two versions: no renaming and no move is, one more operation of a function is."""

from __future__ import annotations

from textwrap import dedent

import pytest

from codemods.hotpath import check_files, compare
from codemods.hotpath.baseline import Baseline
from codemods.hotpath.compare import update_baseline
from codemods.hotpath.config import Config
from codemods.hotpath.results import Report
from codemods.hotpath.trees import name_file

SCORES = """
import torch


def score(model, batch):
    total = model(batch.cuda()).sum()
    return total.item()


def norms(model):
    return [float(p.grad.norm()) for p in model.parameters()]
"""
TRAIN = """
import torch

from scores import norms, score


def log(loss, step):
    print(loss.item())


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model.cuda()
        self.optimizer = optimizer

    def fit(self, loader):
        for batch in loader:
            loss = self.model(batch).mean()
            loss.backward()
            self.optimizer.step()
            log(loss, 0)
            if loss.isnan():
                break
            print(loss.cpu())


def evaluate(model, loader):
    model = model.cuda()
    results = []
    for batch in loader:
        results.append(score(model, batch))
    return results
"""
BEFORE = {"train.py": TRAIN, "scores.py": SCORES}
LOG = "def log(loss, step):\n    print(loss.item())\n"
IMPORT = "import torch\n"
BACKWARD = "loss.backward()"
RATE = "results.append(score(model, batch))"


def check(tree: dict[str, str]) -> Report:
    """What a program's files hold."""
    files = [name_file(path, text.encode(), lambda _: False) for path, text in sorted(tree.items())]
    return check_files(files, Config(heat=("env", "step", "every-n")))


def new(before: dict[str, str], after: dict[str, str]) -> list[tuple[str, str, str]]:
    """The code, file and text of what is new."""
    found = compare(check(after), check(before)).new
    return [(finding.code, finding.place.path, finding.text) for finding in found]


def test_the_program_stalls_to_begin_with() -> None:
    report = check(BEFORE)
    texts = [finding.text for finding in report.findings]
    assert texts == ["total.item()", "loss.item()", "loss.isnan()", "loss.cpu()"]
    assert [loop.heat for loop in report.loops] == ["step", "step"]


def swap(path: str, *pairs: tuple[str, str]) -> dict[str, str]:
    """The program with some text of a file replaced."""
    text = BEFORE[path]
    for old, replacement in pairs:
        assert old in text
        text = text.replace(old, replacement)
    return {**BEFORE, path: text}


FIT = TRAIN[TRAIN.index("    def fit") : TRAIN.index("def evaluate")]
HELPER = """
def show(value):
    print(value.cpu())


"""
PARTS = """\
    return one(model, batch) if model.training else other(model, batch)


def read(total):
    return total.item()


def one(model, batch):
    return read(model(batch.cuda()).sum())


def other(model, batch):
    return read(model(batch).sum())
"""
RENAMINGS = {
    "a loop's variable": swap("train.py", ("batch", "inputs")),
    "enumerate": swap("train.py", ("for batch in loader", "for step, batch in enumerate(loader)")),
    "tqdm": swap(
        "train.py", (IMPORT, f"{IMPORT}from tqdm import tqdm\n"), ("in loader", "in tqdm(loader)")
    ),
    "tqdm by another name": swap(
        "train.py",
        ("import torch\n", "import torch\nimport tqdm.auto as bars\n"),
        ("in loader", "in bars.tqdm(loader, desc='train')"),
    ),
    "zip": swap("train.py", ("for batch in loader", "for batch, _ in zip(loader, range(100))")),
    "a bar in a variable": swap(
        "train.py", ("        for batch in loader", "        bar = tqdm(loader)\n        for batch in bar")
    ),
    "a local": swap("train.py", ("loss", "objective")),
    "a local in a called function": swap("scores.py", ("total", "value")),
    "a field": swap("train.py", ("self.model", "self.network")),
    "a local that becomes a field": swap("train.py", ("loss", "self.loss"), ("log(self.loss,", "log(loss,")),
    "a message": swap("train.py", ("print(loss.cpu())", "print('loss', loss.cpu())")),
    "a function": swap("train.py", ("evaluate", "validate")),
    "a function that is called": {
        "train.py": TRAIN.replace("score(", "rate(").replace("norms, score", "norms, rate"),
        "scores.py": SCORES.replace("score(", "rate("),
    },
    "a class": swap("train.py", ("Trainer", "Learner")),
    "a file": {"train.py": TRAIN.replace("scores", "metrics"), "metrics.py": SCORES},
    "a function that moves to another file": {
        "train.py": TRAIN.replace(LOG, "").replace(
            "norms, score", "log, norms, score"
        ),
        "scores.py": f"{SCORES}\n\ndef log(loss, step):\n    print(loss.item())\n",
    },
    "a function that moves and is renamed": {
        "train.py": TRAIN.replace(LOG, "")
        .replace("norms, score", "norms, score, tell")
        .replace("log(", "tell("),
        "scores.py": f"{SCORES}\n\ndef tell(value, step):\n    print(value.item())\n",
    },
    "a function that moves, is renamed and keeps half of its lines": {
        "train.py": TRAIN.replace("score(", "rate(").replace(
            "from scores import norms, score", "from rates import rate\nfrom scores import norms"
        ),
        "scores.py": SCORES[SCORES.index("def norms") :],
        "rates.py": "def rate(model, batch):\n    total = model.score(batch)\n    return total.item()\n",
    },
    "a part of a loop that becomes a function": swap(
        "train.py", ("print(loss.cpu())", "show(loss)"), ("class Trainer", f"{HELPER}class Trainer")
    ),
    "a function that becomes a part of the loop": swap(
        "train.py", ("log(loss, 0)", "print(loss.item())"), (LOG, "")
    ),
    "a method that becomes a function": swap(
        "train.py", (FIT, ""), ("def evaluate", f"{dedent(FIT).rstrip()}\n\n\ndef evaluate")
    ),
    "a called function in parts": swap(
        "scores.py",
        ("    total = model(batch.cuda()).sum()\n    return total.item()\n", PARTS),
    ),
    "other lines before it": swap("train.py", ("import torch\n", "import torch\n\nLIMIT = 3\n")),
    "a read that is rarer": swap(
        "train.py",
        ("for batch in loader:\n            loss", "for step, batch in enumerate(loader):\n            loss"),
        ("            log(loss, 0)", "            if step % 10 == 0:\n                log(loss, 0)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("after", RENAMINGS.values(), ids=RENAMINGS)
def test_a_renaming_or_a_move_is_not_new(after: dict[str, str]) -> None:
    assert new(BEFORE, after) == []


PLANTED = {
    "a read in a loop": (
        swap("train.py", (BACKWARD, f"{BACKWARD}; loss.item()")),
        ("HP001", "train.py", "loss.item()"),
    ),
    "the same read once more": (
        swap("train.py", ("print(loss.cpu())", "print(loss.cpu(), loss.cpu())")),
        ("HP002", "train.py", "loss.cpu()"),
    ),
    "a read in a called function": (
        swap("scores.py", ("    return total", "    total.cpu()\n    return total")),
        ("HP002", "scores.py", "total.cpu()"),
    ),
    "an equal one is removed in another function": (
        swap("train.py", ("print(loss.item())", "pass"), (RATE, "results.append(model(batch).item())")),
        ("HP001", "train.py", "model(batch).item()"),
    ),
    "an equal one is removed in another file": (
        {
            "train.py": TRAIN.replace(BACKWARD, f"{BACKWARD}; loss.item()"),
            "scores.py": SCORES.replace("total.item()", "total"),
        },
        ("HP001", "train.py", "loss.item()"),
    ),
    "a function with an equal one is removed": (
        swap("train.py", (LOG, ""), ("log(loss, 0)", "pass"), (RATE, "batch.cuda().sum().item()")),
        ("HP001", "train.py", "batch.cuda().sum().item()"),
    ),
    "a call of a function that stalls": (
        swap("train.py", (BACKWARD, f"{BACKWARD}; norms(self.model)")),
        ("HP007", "scores.py", "float(p.grad.norm())"),
    ),
    "a further call of one that stalls already": (
        swap("train.py", (BACKWARD, f"{BACKWARD}; score(self.model, batch)")),
        ("HP001", "scores.py", "total.item()"),
    ),
    "a fence in a renamed loop": (
        swap("train.py", ("batch", "inputs"), (BACKWARD, f"{BACKWARD}; torch.cuda.synchronize()")),
        ("HP010", "train.py", "torch.cuda.synchronize()"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("after", "told"), PLANTED.values(), ids=PLANTED)
def test_what_is_planted_is_new(after: dict[str, str], told: tuple[str, str, str]) -> None:
    assert told in new(BEFORE, after)


def test_two_functions_that_become_one_are_not_new() -> None:
    tell = ("class Trainer", "def tell(value):\n    print(value.item())\n\n\nclass Trainer")
    two = swap("train.py", ("print(loss.cpu())", "tell(loss)"), tell)
    assert new(two, swap("train.py", ("print(loss.cpu())", "log(loss, 1)"))) == []


def test_a_hotter_operation_is_new() -> None:
    guarded = "            if self.count % 10 == 0:\n                log(loss, 0)"
    rare = swap("train.py", ("            log(loss, 0)", guarded))
    assert new(BEFORE, rare) == []
    assert new(rare, BEFORE) == [("HP001", "train.py", "loss.item()")]


def test_nothing_is_new_in_files_that_did_not_change() -> None:
    train = TRAIN.replace(BACKWARD, f"{BACKWARD}; norms(self.model)")
    scores = SCORES.replace("import torch\n", "import torch\nfrom weights import weights\n")
    scores = scores.replace("model.parameters()", "weights()").replace("p.grad.norm()", "p")
    weights = "import torch\n\n\ndef weights():\n    return [1.0]\n"
    before = {"train.py": train, "scores.py": scores, "weights.py": weights}
    after = {**before, "weights.py": weights.replace("1.0", "torch.ones(2, device='cuda').norm()")}
    assert len(check(after).findings) == len(check(before).findings) + 1
    assert new(before, after) == []


@pytest.mark.parametrize("after", RENAMINGS.values(), ids=RENAMINGS)
def test_a_renaming_leaves_a_baseline_whole(after: dict[str, str]) -> None:
    accepted = update_baseline(check(BEFORE), Baseline(()), reason="known").baseline
    assert compare(check(after), accepted).new == ()
