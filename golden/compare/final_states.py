"""Final states of optimizers and their models, tensor by tensor."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from golden.compare.divergence import END, Divergence, KindChange, changed, kind_text, tensor_lines
from golden.compare.outcome import Compared
from golden.compare.sides import Found, Sides
from golden.compare.values import distance, load_tensors, same_files
from golden.trace.streams import Stream, final_streams
from golden.trace.tolerance import find

if TYPE_CHECKING:
    import torch


KIND = "final state"


def final_state(stream: Stream, *kinds: KindChange) -> Divergence:
    """Tell that the state which an optimizer and its models ended with differs."""
    head = f"{KIND} of {stream.title}: {kind_text(kinds[0])}"
    return Divergence(KIND, (END, END, 8), [head, *tensor_lines(kinds)], stream.process)


def compare_final_states(sides: Sides) -> Found:
    """Return the final states that differ, beyond their tolerance."""
    left, right = sides.left, sides.right
    files_left, files_right = final_streams(left), final_streams(right)
    compared = Compared(left_out=max(len(left.left_out), len(right.left_out)))
    found: list[Divergence] = []
    for key in dict.fromkeys([*files_left, *files_right]):
        stream = key[0]
        if key not in files_left or key not in files_right:
            side = "base" if key not in files_left else "head"
            found.append(final_state(stream, KindChange("state", 1, {"(all)": f"no final state in {side}"})))
            continue
        x_file, y_file = left.finals[files_left[key]], right.finals[files_right[key]]
        if isinstance(x_file, str) or isinstance(y_file, str):
            if x_file != y_file:
                found.append(final_state(stream, KindChange("whole", 0, {})))
            continue
        same = same_files(x_file, y_file)
        if same is not None:
            compared += Compared(tensors=same[0], bytes=same[1])
            continue
        a, b = load_tensors(x_file), load_tensors(y_file)
        kinds = []
        for kind in dict.fromkeys([*a, *b]):
            x, y = a.get(kind, {}), b.get(kind, {})
            compared += Compared(tensors=len(x), bytes=sum(t.nbytes for t in x.values()))
            change = changed(kind, x, y, functools.partial(_differ, kind, sides))
            kinds += [change] if change is not None else []
        if kinds:
            found.append(final_state(stream, *kinds))
    return Found(found, compared)


def _differ(kind: str, sides: Sides, name: str, x: torch.Tensor, y: torch.Tensor) -> str | None:
    if x.dtype != y.dtype or x.shape != y.shape:
        return " -> ".join(f"{str(tensor.dtype)[6:]}{list(tensor.shape)}" for tensor in (x, y))
    apart = distance(x, y)
    if apart is None:
        return None
    return None if sides.account.passes(find(sides.tolerances, kind, name), apart.ulps) else apart.text
