"""Plant a bug of the kind that a split by hand makes: two statements change places."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Swap:
    """Two pieces of a file that change places; whole lines, with their indentation."""

    title: str
    file: str
    first: str
    between: str
    second: str


SEED_GRADIENTS = Swap(
    title="the seeds' gradients are cleared after the backward pass, not before it",
    file="src/esper/simic/training/batch_ops.py",
    first="""\
        for optimizer in env_state.seed_optimizers.values():
            optimizer.zero_grad(set_to_none=True)
""",
    between="""\
        with torch_amp.autocast(
            env_state.device.type,
            dtype=setup.placement.amp_dtype,
            enabled=setup.placement.amp_dtype is not None,
        ):
            logits = env_state.model(inputs)
        loss = mean_loss(logits, targets)
""",
    second="""\
        backward(loss, optimizers, env_state.scaler)
""",
)


class NotPlanted(Exception):
    """The lines are not in the file, or not once."""


def plant(tree: Path, swap: Swap) -> None:
    """Make the change in a tree. Raises `NotPlanted`."""
    path = tree / swap.file
    text = path.read_text(encoding="utf-8")
    before = swap.first + swap.between + swap.second
    if text.count(before) != 1:
        raise NotPlanted(f"{swap.file}: the lines to swap occur {text.count(before)} times, not once")
    path.write_text(text.replace(before, swap.between + swap.second + swap.first), encoding="utf-8")
