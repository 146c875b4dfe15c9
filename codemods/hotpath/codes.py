"""The codes: what each one flags, why, and what to do instead; with an example of each side.

The examples are statements in the body of a loop over environments, where ``x`` and ``y`` are tensors on the
device and ``values`` is a list of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """One code.

    Attributes:
        code: as reported.
        name: short, for tools that show names.
        title: what is flagged.
        why: why it stalls the device.
        instead: what to do in a loop over environments.
        per_step: what to do in one over steps, if that is something else.
        flagged: a statement that is.
        fine: one that looks like it and is not.
        default: whether it is reported without being selected.
    """

    code: str
    name: str
    title: str
    why: str
    instead: str
    flagged: str
    fine: str
    default: bool = True
    per_step: str = ""

    @property
    def ways_out(self) -> str:
        """Say what to do instead, in both kinds of loops where that differs."""
        steps = f" In a loop over steps: {self.per_step[:1].lower()}{self.per_step[1:]}"
        return f"{self.instead}{steps if self.per_step else ''}"

    def way_out(self, *, per_env: bool) -> str:
        """Say what to do instead, in a loop over environments or in another one."""
        return self.instead if per_env else self.per_step or self.instead


_KEEP = "Keep it on the device (`total += loss.detach()`); read every so many steps, or once after the loop."
_GATHER = "Gather it on the device (`torch.cat`); copy every so many steps, or once after the loop."
_BATCH = "Keep the value on the device in the loop, stack after it, and read all at once after the fence."

_ALL = (
    Code(
        "HP001",
        "item",
        "`.item()` reads one element",
        "The host waits until the device has computed the value, in every round of the loop.",
        _BATCH,
        "total += x.item()",
        "total += values[env_idx]  # of `values = batch.tolist()`, before the loop",
        per_step=_KEEP,
    ),
    Code(
        "HP002",
        "cpu",
        "`.cpu()` copies a tensor to the host",
        "The copy waits for everything queued before it.",
        _BATCH,
        "rows.append(x.cpu())",
        "rows.append(x.detach())",
        per_step=_GATHER,
    ),
    Code(
        "HP003",
        "tolist",
        "`.tolist()` reads a whole tensor",
        "The host waits for the tensor, then copies it.",
        _BATCH,
        "rows.append(x.tolist())",
        "rows.append(np.zeros(3).tolist())",
        per_step=_GATHER,
    ),
    Code(
        "HP004",
        "numpy",
        "`.numpy(force=True)` copies a tensor to the host",
        "An array lives in host memory: the tensor is copied, and the copy waited for. Without `force` a "
        "tensor on the device is an error, and one in host memory costs nothing.",
        _BATCH,
        "rows.append(x.numpy(force=True))",
        "rows.append(np.asarray([env_idx, 2]))",
        per_step=_GATHER,
    ),
    Code(
        "HP005",
        "to-cpu",
        '`.to("cpu")` copies a tensor to the host',
        "Without `non_blocking=True` the host waits for the copy.",
        "Copy once for all environments, or with `non_blocking=True` and one fence after the loop.",
        'rows.append(x.to("cpu"))',
        'rows.append(x.to("cpu", non_blocking=True))',
        per_step="Copy with `non_blocking=True` into pinned memory, and use it a step later.",
    ),
    Code(
        "HP006",
        "data-dependent-shape",
        "the shape of a result depends on the data",
        "The host must know how many elements there are before it can allocate them.",
        "Compute with masks: `torch.where(mask, x, 0)`, sums of masks, `nonzero_static`.",
        "rows.append(x[x > 0])",
        "rows.append(torch.where(x > 0, x, 0.0))",
    ),
    Code(
        "HP007",
        "python-number",
        "a tensor becomes a Python number",
        "`float()`, `int()`, `math`, an index or a range need the value on the host.",
        _BATCH,
        "total += float(x)",
        "total += float(x.shape[0])",
        per_step=_KEEP,
    ),
    Code(
        "HP008",
        "branch-on-tensor",
        "a decision needs the value of a tensor",
        "`if`, `while`, `assert`, `and`, `in`, `min()` of tensors ask for its truth on the host.",
        "Decide on the device with `torch.where`, or read all decisions at once after the fence.",
        "if x > 0:\n    total += 1",
        "if x is not None:\n    total += 1",
        per_step="Decide on the device with `torch.where`, or add flags up and test every so many steps.",
    ),
    Code(
        "HP009",
        "tensor-as-text",
        "a tensor becomes text",
        "Printing or formatting a tensor reads its values.",
        "Log numbers that were read once, after the fence; shapes and devices cost nothing.",
        'print(f"loss {x}")',
        'print(f"loss of shape {x.shape}")',
        per_step="Log every so many steps; shapes and devices cost nothing.",
    ),
    Code(
        "HP010",
        "device-synchronize",
        "the host waits for the whole device",
        "After `torch.cuda.synchronize()` nothing is queued: no two steps, or environments, overlap.",
        "Synchronise once after the loop.",
        "y = x * 2\ntorch.cuda.synchronize()",
        "torch.cuda.current_stream().wait_stream(stream)",
        per_step="Leave it out; to time steps, record `torch.cuda.Event`s and read them after the loop.",
    ),
    Code(
        "HP011",
        "stream-synchronize",
        "the host waits for a stream",
        "Beside other work, a stream is drained before the next round's, or environment's, work is queued.",
        "Queue the work of all environments first; wait in a loop that does nothing else.",
        "y = x * 2\nstream.synchronize()",
        "stream.wait_stream(torch.cuda.current_stream())",
        per_step="Let streams wait for each other (`stream.wait_stream`); the host once, after the loop.",
    ),
    Code(
        "HP012",
        "event-synchronize",
        "the host waits for an event",
        "As for a stream: the work of environments, or of steps, is done one after the other.",
        "Let streams wait for events (`stream.wait_event`), the host once at the end.",
        "event.record()\nevent.synchronize()",
        "event.record()\nstream.wait_event(event)",
    ),
    Code(
        "HP013",
        "len-of-tensor",
        "`len()` of a tensor",
        "A dense tensor's length is known without asking the device, so this is off by default; under "
        "`torch.compile` and for tensors of data-dependent shape it makes the length a Python number.",
        "Use a count that the program already has.",
        "total += len(x)",
        "total += len(rows)",
        default=False,
    ),
    Code(
        "HP014",
        "checked-on-host",
        "a library call looks at values on the host",
        "`torch.equal`, `multinomial`, `linalg.solve`, `GradScaler.step` and distributions that validate "
        "their arguments read a flag before they return.",
        "Use the unchecked form (`inv_ex`, `validate_args=False`, `num_classes=`), or call it once for all.",
        "rows.append(torch.multinomial(x, 1))",
        "rows.append(torch.linalg.inv_ex(x))",
        per_step="Use the unchecked form (`inv_ex`, `validate_args=False`); bfloat16 needs no `GradScaler`.",
    ),
    Code(
        "HP015",
        "copy-to-device",
        "a blocking copy from the host to the device",
        "Copies from pageable memory wait for what is queued on the stream before them.",
        "Pin the array and copy with `non_blocking=True`; for many environments, build one and copy once.",
        "rows.append(torch.tensor([1.0, 2.0], device=device))",
        "rows.append(torch.zeros(2, device=device))",
        per_step="Pin (`DataLoader(pin_memory=True)`), copy with `non_blocking=True`; make constants once.",
    ),
    Code(
        "HP016",
        "save",
        "tensors are written to a file or pickled",
        "Writing brings every tensor to the host.",
        "Save after the loop, or in another process from a copy on the host.",
        'torch.save({"weights": x}, path)',
        "saved = copy.deepcopy(x)",
        per_step="Save every so many steps, or in another process from a copy on the host.",
    ),
    Code(
        "HP017",
        "collective",
        "a collective that the host waits for",
        "Barriers and collectives of Python objects block until all processes have arrived.",
        "Use collectives of tensors, once for all environments.",
        "torch.distributed.barrier()",
        "torch.distributed.all_reduce(x, async_op=True)",
        per_step="Use collectives of tensors, for which the host does not wait.",
    ),
    Code(
        "HP018",
        "empty-cache",
        "memory is given back to the driver",
        "`empty_cache()` frees device memory, which waits for the device.",
        "Leave the cache alone in hot loops.",
        "torch.cuda.empty_cache()",
        "peak = torch.cuda.max_memory_allocated()",
    ),
    Code(
        "HP019",
        "tracker",
        "a tensor goes to an experiment tracker or a progress bar",
        "It reads the value to write it down.",
        "Give it numbers that were read once for all environments.",
        'writer.add_scalar("loss", x, env_idx)',
        'writer.add_scalar("loss", 0.5, env_idx)',
        per_step="Give it values every so many steps; add up on the device in between.",
    ),
    Code(
        "HP900",
        "unused-allow",
        "an allow comment that allows nothing",
        "What it allowed is gone, or the code is another one.",
        "Delete the comment.",
        "total += 1  # hotpath: allow[HP001] was a read once",
        "total += x.item()  # hotpath: allow[HP001] read once per run",
    ),
    Code(
        "HP901",
        "allow-without-reason",
        "an allow comment without a reason, or that can't be read",
        "Without a reason nobody can tell later whether it still holds; such a comment allows nothing.",
        "Write `# hotpath: allow[HP001] why it is worth a stall`.",
        "total += x.item()  # hotpath: allow[HP001]",
        "total += x.item()  # hotpath: allow[HP001] read once per run",
    ),
    Code(
        "HP902",
        "stale-baseline",
        "a baseline entry that nothing matches any more",
        "What it accepted is gone, or there is less of it; left in place it would let the next one in.",
        "Run with `--update-baseline`.",
        "total += 1",
        "total += x.item()",
    ),
    Code(
        "HP903",
        "not-looked-at",
        "a file, or a function in it, that could not be looked at",
        "What is not read can't be called clean; everything else was checked.",
        "Mend the file, or leave it out with `exclude` in `[tool.codemods.hotpath]`.",
        "total += ((1)",
        "total += 1",
    ),
)

CODES: dict[str, Code] = {code.code: code for code in _ALL}
"""Every code, in order."""

DEFAULT_OFF = frozenset(code.code for code in _ALL if not code.default)
"""Codes that are reported only where they are selected."""
