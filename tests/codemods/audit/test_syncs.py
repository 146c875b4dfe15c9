"""Device syncs are told with their loop and the last fence before them."""

import ast
from textwrap import dedent

import pytest

from codemods.device.syncs import SyncCall, find_syncs


def syncs(text: str) -> tuple[SyncCall, ...]:
    function = ast.parse(dedent(text)).body[0]
    assert isinstance(function, ast.FunctionDef)
    return find_syncs(function, function.name)


@pytest.mark.parametrize(
    ("expression", "method"),
    [
        ("x.item()", "item"),
        ("x.cpu()", "cpu"),
        ("x.tolist()", "tolist"),
        ("x.numpy()", "numpy"),
        ("x.nonzero()", "nonzero"),
        ("x.to('cpu')", "to"),
        ("x.to(device='cpu', copy=True)", "to"),
        ("torch.cuda.synchronize()", "synchronize"),
        ("stream.synchronize()", "synchronize"),
        ("synchronise(streams)", "synchronise"),
    ],
)
def test_known_calls(expression: str, method: str) -> None:
    (call,) = syncs(f"def f(x, stream, streams):\n    return [{expression}]")
    assert (call.method, call.text, call.loops, call.fence) == (method, expression, (), None)


@pytest.mark.parametrize(
    "expression", ["d.item(3)", "x.to('cuda')", "x.to(torch.float32)", "x.cpu", "item()"]
)
def test_other_calls(expression: str) -> None:
    assert syncs(f"def f(x, d):\n    return {expression}") == ()


@pytest.mark.parametrize(
    ("expression", "methods"),
    [
        ("x.cpu().numpy()", ["cpu"]),
        ("x.to('cpu').float().tolist()", ["to"]),
        ("x.nonzero().tolist()", ["nonzero", "tolist"]),
        ("x.cpu().to(device).item()", ["cpu", "item"]),
        ("x.item() + y.item()", ["item", "item"]),
        ("f(x.cpu()).item()", ["cpu", "item"]),
    ],
)
def test_what_is_on_the_host_is_not_read_again(expression: str, methods: list[str]) -> None:
    found = syncs(f"def f(x, y, device):\n    return {expression}")
    assert [call.method for call in found] == methods


def test_loops_and_fences() -> None:
    found = syncs(
        """
        def f(envs, streams):
            for env in envs:
                env.loss.item()
            for stream in streams:
                stream.synchronize()
            losses = [env.loss.item() for env in envs if env.ok.item()]
            while envs:
                if losses:
                    envs.pop().cpu()
            def inner(x):
                return x.item()
            return inner(torch.stack(losses).sum().tolist())
        """
    )
    assert [(s.line, s.method, s.function, s.loops, s.fence) for s in found] == [
        (4, "item", "f", ("for env in envs",), None),
        (6, "synchronize", "f", ("for stream in streams",), None),
        (7, "item", "f", ("for env in envs",), 6),
        (7, "item", "f", ("for env in envs",), 6),
        (10, "cpu", "f", ("while envs",), 6),
        (12, "item", "f.inner", (), None),
        (13, "tolist", "f", (), 6),
    ]
    assert [s.line for s in found if s.is_fence] == [6]


def test_a_fence_in_one_branch_is_not_before_the_other() -> None:
    found = syncs(
        """
        def f(x, fast):
            if fast:
                torch.cuda.synchronize()
            else:
                x.item()
            x.cpu()
        """
    )
    assert [(s.method, s.fence) for s in found] == [("synchronize", None), ("item", None), ("cpu", 4)]


def test_a_long_receiver_keeps_its_call() -> None:
    (call,) = syncs("def f(x):\n    x.a(" + "1, " * 40 + ").item()")
    assert call.text.startswith("x.a(1, 1")
    assert call.text.endswith("….item()")
