"""The trainer as one file and in the modules that the plans make of it: the same findings, one to one."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from codemods.hotpath import check, compare
from codemods.hotpath.results import Report
from codemods.plans import derive_tree

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
MONOLITH = "examples/monolith/vectorized.py"
# At the start of functions that the plans lift, move and rename.
PRINTED = "print(inputs.mean().item(), "
PLANTED = {
    "_advance_active_seed": "torch.cuda.synchronize()",
    "make_telemetry_callback": "torch.cuda.empty_cache()",
    "create_env_state": "torch.cuda.synchronize()",
    "_collect_gradient_telemetry_for_batch": "print(env_state.train_totals)",
    "_parse_sampled_action": "env_state.val_totals.tolist()",
    "process_train_batch": f"{PRINTED}float(targets.sum()))",
    "process_val_batch": "print(inputs[inputs > 0], inputs.cpu())",
    "process_fused_val_batch": "assert (inputs > 0).all()",
    "train_hosts": "x = [bool(env_state.train_totals.any()) for env_state in round_state.env_states]",
}


def plant(text: str) -> str:
    """Put a stall at the start of some functions."""
    lines = text.splitlines(keepends=True)
    planted = 0
    for node in sorted(ast.walk(ast.parse(text)), key=lambda node: -getattr(node, "lineno", 0)):
        if isinstance(node, ast.FunctionDef) and node.name in PLANTED:
            after = node.body[0].end_lineno
            assert after is not None
            lines.insert(after, f"{' ' * node.body[0].col_offset}{PLANTED[node.name]}\n")
            planted += 1
    assert planted >= len(PLANTED) - 1, "the trainer's helpers have other names now"
    return "".join(lines)


def one_file(root: Path) -> Report:
    """The monolith with the packages that it uses, and none of the modules that it was made into."""
    training = root / "src" / "esper" / "simic" / "training"
    kept = [path for path in (root / "src" / "esper").rglob("*.py") if training not in path.parents]
    return check([root / MONOLITH, *kept, training / "config.py"], root=root)


def modules(root: Path) -> Report:
    """The modular trainer."""
    return check([root / "src" / "esper"], root=root)


def derived(root: Path, *, stalls: bool) -> Path:
    """The repository with the modules that the plans make of the monolith, as it is or with stalls in it."""
    for part in ("examples/monolith", "src/esper", "codemods/plans", "tests/esper"):
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "pyproject.toml").write_text("")
    monolith = root / MONOLITH
    if stalls:
        monolith.write_text(plant(monolith.read_text()))
    made = root / "made"
    assert not derive_tree(root / "codemods" / "plans" / "03_engine.toml", root, made).refused
    return made


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return derived(tmp_path_factory.mktemp("planted"), stalls=True)


def test_as_it_is_the_same_findings(tmp_path: Path) -> None:
    root = derived(tmp_path, stalls=False)
    before, after = one_file(root), modules(root)
    comparison = compare(after, before)
    assert (comparison.new, comparison.gone) == ((), ())
    headers = [loop.header for loop in before.loops if loop.place.path == MONOLITH]
    assert len(headers) >= 20
    assert not set(headers) - {loop.header for loop in after.loops}


def test_planted_stalls_are_matched_one_to_one(planted: Path) -> None:
    before, after = one_file(planted), modules(planted)
    found = {finding.text for finding in before.findings}
    assert {"inputs.mean().item()", "float(targets.sum())", "inputs[inputs > 0]", "inputs.cpu()"} <= found
    assert {"env_state.val_totals.tolist()", "bool(env_state.train_totals.any())"} <= found
    assert {"torch.cuda.synchronize()", "torch.cuda.empty_cache()", "(inputs > 0).all()"} <= found
    comparison = compare(after, before)
    assert comparison.new == ()
    assert comparison.gone == ()
    assert len(comparison.accepted) == len(before.findings) == len(after.findings) >= len(PLANTED)


def test_one_more_after_the_move_is_told(planted: Path) -> None:
    target = planted / "src" / "esper" / "simic" / "training" / "batch_ops.py"
    text = target.read_text()
    before = one_file(planted)
    try:
        target.write_text(text.replace(PRINTED, f"{PRINTED}inputs.mean().item(), "))
        (new,) = compare(modules(planted), before).new
    finally:
        target.write_text(text)
    assert new.text == "inputs.mean().item()"
    assert new.loop is not None
    assert [step.function for step in new.steps] == ["process_train_batch"]
