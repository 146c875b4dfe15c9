"""One change in a script: it is found, and named at the right step, environment, kind and tensor."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from golden.trace.trace import load_trace
from tests.golden.project import RUN, Project


def diff(project: Project, reference: Callable[[], Path], code: int = 1) -> str:
    changed = project.record("changed", dense=True)
    result = project.golden("diff", reference(), changed)
    assert result.code == code, result.out
    return result.out


@pytest.mark.slow
def test_unchanged_script_is_identical_and_says_what_was_compared(
    project: Project, reference: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_COMPILER", "loaded")  # as outside of tests, and not as the reference
    out = diff(project, reference, code=0)
    assert "compared: 18 events, 18 optimizer steps, " in out


def test_one_bit_of_one_optimizer_state(project: Project) -> None:
    """With digests made where the tensors are, as on a GPU."""
    project.run_file(RUN.replace('"{out}"]', '"{out}", "steps=16"]') + '\n[observe]\ndigests = "device"\n')
    before = project.record("before", dense=True)
    assert '["2.weight","float32",[2,8],"sums"]' in (before / "rank-0" / "steps.jsonl").read_text()
    flip = "optimizer.state[host[2].weight]['momentum_buffer'].view(torch.int32)[1, 3:4].bitwise_xor_(1)"
    # The hook of the optimizer itself runs before the observer's, within the step.
    project.edit(
        "BEFORE STEP",
        f"(env, step) == (2, 14) and optimizer.register_step_post_hook(lambda *_: {flip} and None)",
    )
    result = project.golden("diff", before, project.record("after", dense=True))
    assert result.code == 1
    first = result.out.splitlines()[1]
    assert first.startswith(
        "first divergence: step 14 of env 2, Sequential (step 44 overall, SGD): "
        "optimizer state 2.weight.momentum_buffer: 1 of 16 elements, up to 1 ulp, "
    )
    assert "first at [1, 3]" in first
    # Nothing but this at this step, and nothing at all in the other environments.
    assert "  optimizer state: 1 of 6 differ\n" in result.out
    assert "  last identical: step 13 of env 2, Sequential\n" in result.out
    assert not re.search("of env [01]", result.out)
    assert not re.search("^  (buffer|gradient|parameter|loss|setting)", result.out, re.MULTILINE)


@pytest.mark.slow
def test_equal_losses_and_different_weights(project: Project, reference: Callable[[], Path]) -> None:
    """Momentum left out of the last step: no loss is computed from the weights it changes."""
    project.edit(
        "BEFORE STEP",
        "if step == steps - 1: [s['momentum_buffer'].zero_() for s in optimizer.state.values()]",
    )
    traces = load_trace(reference()), load_trace(project.record("changed"))
    losses = [[s.losses for s in t.processes[0].steps] for t in traces]
    events = [[e.line for e in t.events] for t in traces]
    assert losses[0] == losses[1]
    assert events[0] == events[1]
    result = project.golden("diff", *(t.folder for t in traces))
    assert result.code == 1
    assert (
        "first divergence: step 5 of env 0, Sequential (step 15 overall, SGD): parameter 0.weight"
        in result.out
    )
    assert re.search("^  parameter: [456] of 6 differ", result.out, re.MULTILINE)
    assert re.search("^  step 5 of env 2, Sequential", result.out, re.MULTILINE)
    # The first line names the folders.
    found = result.out.partition("\n")[2].replace("compared: 18 events", "")
    assert not re.search("loss|event|gradient|buffer:|setting", found)


@pytest.mark.slow
def test_weight_changed_after_the_last_step(project: Project, reference: Callable[[], Path]) -> None:
    project.script(
        (project.root / "train.py").read_text() + "\nhosts[1][2].weight.data[0, 0] = float('nan')\n"
    )
    out = diff(project, reference)
    assert "first divergence: final state of env 1, Sequential: parameter 2.weight: 1 of 16 elements" in out
    assert "NaN: 0 in base, 1 in head" in out


@pytest.mark.slow
def test_final_states_that_were_not_kept_are_named_with_the_verdict(project: Project) -> None:
    # A type that safetensors can't hold.
    project.script(
        (project.root / "train.py").read_text()
        + "\nodd = nn.Parameter(torch.zeros(2, dtype=torch.complex128))\nodd.grad = torch.ones_like(odd)\n"
        + "last = torch.optim.SGD([odd], lr=0.1)\nlast.step()\n"
    )
    left = project.record("plain")
    result = project.golden("diff", left, left)
    assert result.code == 0
    said = "not compared: 1 final state too large to be kept (256 MiB), or of a type that can"
    assert said in result.out
    page = project.root / "page.html"
    assert project.golden("report", left, left, "-o", page).code == 0
    assert said in page.read_text()


@pytest.mark.slow
def test_sign_of_zero_is_a_difference(project: Project) -> None:
    """To digests of a device; those of the host are of the bytes."""
    project.run_file(f'{RUN}\n[observe]\ndigests = "device"\n')
    tail = "\nhosts[0].register_buffer('zero', torch.tensor([{}0.0])); optimizers[0].step()\n"
    text = (project.root / "train.py").read_text()
    project.script(text + tail.format(""))
    left = project.record("plus")
    project.script(text + tail.format("-"))
    result = project.golden("diff", left, project.record("minus"))
    assert result.code == 1
    assert "buffer zero" in result.out
    assert "0.0 -> -0.0" in result.out


def test_extra_random_draw(project: Project, reference: Callable[[], Path]) -> None:
    project.edit("AFTER STEP", "torch.rand(()) if (env, step) == (0, 3) else None")
    out = diff(project, reference)
    assert "first divergence: random state after step 10 overall: torch" in out
    assert "last identical: step 9 overall" in out
    assert not re.search("step . of env", out)


@pytest.mark.slow
def test_reordered_envs(project: Project, reference: Callable[[], Path]) -> None:
    text = (project.root / "train.py").read_text()
    swapped = text.replace("(zip(hosts, optimizers))", "(zip(hosts, optimizers))")
    swapped = swapped.replace(
        "in enumerate(zip(hosts, optimizers)):",
        "in sorted(enumerate(zip(hosts, optimizers)), key=lambda e: -e[0]):",
    )
    assert swapped != text
    project.script(swapped)
    out = diff(project, reference)
    assert "order of steps: step 0 overall is of env 0, Sequential in base, of env 2, Sequential" in out


@pytest.mark.slow
def test_missing_step(project: Project, reference: Callable[[], Path]) -> None:
    project.edit("BEFORE STEP", "if (env, step) == (1, 5): continue")
    out = diff(project, reference)
    assert "number of steps of env 1, Sequential: 6 in base, 5 in head" in out


@pytest.mark.slow
def test_dropped_event_and_dropped_field(project: Project, reference: Callable[[], Path]) -> None:
    project.edit(
        "EVENT",
        "if (env, step) == (2, 3): continue\n"
        "            event.pop('loss') if (env, step) == (1, 5) else None",
    )
    out = diff(project, reference)
    assert "first divergence: event 11 (step) of env 2 is missing in head" in out
    assert "event 16 (step) of env 1: field loss is missing" in out
    assert not re.search("step . of env", out)
