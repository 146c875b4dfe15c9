"""Down to the operation: alignment survives what only one side has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.compare.operations import Operation, locate
from tests.golden.project import RUN, Project


def chain(*steps: tuple[str, str]) -> list[Operation]:
    """Operations that each read what the one before wrote; a step is a name and what marks its output."""
    found, value = [], "start"
    for name, mark in steps:
        out = f"{name}({value}){mark}"
        found.append(Operation(name, "net", "train.py:1 main", (), (value,), (out,)))
        value = out
    return found


NAMES = ["conv", "norm", "relu", "linear", "loss"]


def test_equal_logs() -> None:
    left = chain(*[(n, "") for n in NAMES])
    assert locate(left, chain(*[(n, "") for n in NAMES])) == ""


@given(st.integers(0, len(NAMES) - 1))
def test_first_other_output_is_found_and_not_what_follows(index: int) -> None:
    left = chain(*[(n, "") for n in NAMES])
    right = chain(*[(n, "!" if i == index else "") for i, n in enumerate(NAMES)])
    found = locate(left, right)
    assert found == f"{NAMES[index]} in net at train.py:1 main has equal inputs and another output"


@given(st.integers(0, len(NAMES)))
def test_added_operation_is_found_wherever_it_is(index: int) -> None:
    left = chain(*[(n, "") for n in NAMES])
    right = chain(*[(n, "") for n in [*NAMES[:index], "extra", *NAMES[index:]]])
    assert locate(left, right) == "extra in net at train.py:1 main is extra in head"
    assert locate(right, left) == "extra in net at train.py:1 main is missing in head"


def test_harmless_addition_does_not_hide_what_comes_later() -> None:
    """An operation of one side that nothing reads is named; without it the later one would be."""
    left = chain(*[(n, "") for n in NAMES])
    aside = Operation("print", "net", "", (), ("start",), ("aside",))
    right = [aside, *chain(*[(n, "!" if n == "linear" else "") for n in NAMES])]
    assert locate(left, right) == "print in net is extra in head"


def test_data_that_differs_from_outside() -> None:
    left = [Operation("conv", "net", "", (), ("batch 1",), ("x",))]
    right = [Operation("conv", "net", "", (), ("batch 2",), ("y",))]
    assert "conv in net reads a tensor that differs" in locate(left, right)


def test_inputs_that_changed_places() -> None:
    """Each was made by an operation before, as on the other side."""
    made = [Operation("load", "net", "", (), (), (name,)) for name in "ab"]
    left = [*made, Operation("sub", "net", "", (), ("a", "b"), ("a - b",)), *chain(("relu", ""))]
    right = [*made, Operation("sub", "net", "", (), ("b", "a"), ("b - a",)), *chain(("relu", ""))]
    assert "sub in net reads a tensor that differs" in locate(left, right)


def test_other_number_beside_the_tensors() -> None:
    left = [Operation("mul", "net", "", (), ("a",), ("x",))]
    right = [Operation("mul", "net", "", ("0.2",), ("a",), ("y",))]
    assert locate(left, right) == "mul in net has equal tensors and other arguments: none -> 0.2"


@pytest.mark.slow
def test_ab_localize(project: Project) -> None:
    text = (project.root / "train.py").read_text()
    gap = "host(x * (1.0001 if (env, step) == (1, 2) else 1.0))"
    project.script(text.replace("host(x)", gap), "other.py")
    project.script(text.replace("host(x)", "host(x * 1.0)"))
    project.run_file(RUN + '\n[variants.base]\ncommand = ["python", "other.py", "{out}"]\n')
    out, page = project.root / "kept", project.root / "page.html"
    result = project.golden("ab", "train", "--localize", "-n", "2", "-o", out)
    assert result.code == 1, result
    assert "step 2 of env 1, Sequential (step 7 overall, SGD): buffer 1.running_mean" in result.out
    assert " of 32 elements, up to " in result.out
    assert "operations before step 7: aten.mul.Tensor in outside modules at other.py:" in result.out
    assert "has equal tensors and other arguments: 1.0001 -> 1.0" in result.out
    assert "lines before step 7: other.py:" in result.out
    assert "`loss = nn.functional.cross_entropy(host(x * (1.0001 if" in result.out
    told = project.golden("report", "--merge", out, "-o", page, "-o", project.root / "page.md")
    assert told.code == 1, told
    for text in (page.read_text(), (project.root / "page.md").read_text()):
        assert "operations before step 7: aten.mul.Tensor in outside modules at other.py:" in text
        assert "cross_entropy(host(x * (1.0001 if" in text
    # Two other traces of that folder are another comparison.
    told = project.golden("report", out / "train" / "base", out / "train" / "base-again", "-o", page)
    assert (told.code, "operations before step" in page.read_text()) == (0, False), told


TWO = 'command = ["python", "train.py"]\nbudget = 5\n[variants.base]\ncommand = ["python", "other.py"]\n'

SHADOW = """
import copy, torch

torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
shadow = copy.deepcopy(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(60):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    if step == 45:
        shadow.bias.data.fill_(VALUE)
"""


@pytest.mark.slow
def test_ab_localize_looks_more_often_between_two_looks_at_modules(project: Project) -> None:
    project.script(SHADOW.replace("VALUE", "2.0"), "other.py")
    project.script(SHADOW.replace("VALUE", "3.0"))
    project.run_file(TWO)
    result = project.golden("ab", "train", "--localize", "-n", "2")
    assert result.code == 1, result
    assert "after step 48 overall: parameter bias" in result.out
    assert "last identical: step 40" in result.out
    assert "after step 46 overall: parameter bias" in result.out
    assert "last identical: step 45" in result.out
    assert "operations before step 46: aten.fill_.Scalar in outside modules at other.py:" in result.out
    assert "has equal tensors and other arguments: 2.0 -> 3.0" in result.out


LOADER = """
import sys, time, torch

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        time.sleep(0.4 * (index % 2 == LATE))
        return torch.full((2,), float(index))

torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.utils.data.DataLoader(Data(), batch_size=1, num_workers=2):
    loss = model(x * FACTOR).sum()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_the_order_in_which_loader_processes_are_done_is_no_operation(project: Project) -> None:
    """Here the later worker is another one on each side."""
    project.script(LOADER.replace("LATE", "0").replace("FACTOR", "1.0"), "other.py")
    project.script(LOADER.replace("LATE", "1").replace("FACTOR", "(1.5 if x.sum() > 5 else 1.0)"))
    project.run_file(TWO)
    result = project.golden("ab", "train", "--localize")
    assert result.code == 1, result
    first = next(line for line in result.out.splitlines() if line.startswith("operations before step 3"))
    assert "aten.sum.default in outside modules at train.py:" in first, first


EVALUATED = """
import json, sys
import torch
torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
right, total = 3, 4
accuracy = right / total
json.dump({"accuracy": accuracy}, open(sys.argv[1] + "/scores.json", "w"))
"""


@pytest.mark.slow
def test_a_file_that_differs_after_the_last_step_has_its_line(project: Project) -> None:
    project.script(EVALUATED, "other.py")
    project.script(EVALUATED.replace("right / total", "right / (total + 1)"))
    project.run_file(
        'command = ["python", "train.py", "{out}"]\nbudget = 5\n'
        '[variants.base]\ncommand = ["python", "other.py", "{out}"]\n'
    )
    result = project.golden("ab", "train", "--localize", "-n", "2")
    assert result.code == 1, result
    assert "first divergence: file scores.json: field accuracy: 0.75 -> 0.6" in result.out
    assert "`accuracy = right / total` -> `accuracy = right / (total + 1)`" in result.out
