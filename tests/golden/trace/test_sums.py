"""Digests made where tensors are: they tell apart what the host's digests do, and nothing else."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from golden.record import find_run
from golden.record.plan import Plan
from golden.trace import sums
from golden.trace.digest import digests as digests_of_host
from golden.trace.sums import ROW, Sums, multipliers
from tests.golden.project import RUN, Project

NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
DEVICES = ["cpu", pytest.param("cuda", marks=NO_GPU)]
DTYPES = sorted({d for name in dir(torch) if isinstance(d := getattr(torch, name), torch.dtype)}, key=str)


def on_device(tensors: Sequence[torch.Tensor]) -> list[bytes]:
    with torch.no_grad():
        found = Sums(tensors)
        found.start(tensors)
        return found.digests()


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """In logical order; torch can't copy tensors of some types."""
    width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(tensor.element_size())
    return (tensor.view(width) if width is not None else tensor).contiguous()


def on_host(tensors: Sequence[torch.Tensor]) -> list[bytes]:
    with torch.no_grad():
        found = digests_of_host([bytes_of(tensor) for tensor in tensors])
    return [found[start : start + 16] for start in range(0, len(found), 16)]


def whole(raw: bytes, dtype: torch.dtype) -> bytes:
    """As many of some bytes as are elements of a type."""
    raw = bytes(byte & 1 for byte in raw) if dtype is torch.bool else raw
    return raw[: len(raw) // dtype.itemsize * dtype.itemsize]


def made_of(raw: bytes, dtype: torch.dtype) -> torch.Tensor:
    found = whole(raw, dtype)
    plain = torch.frombuffer(bytearray(found), dtype=torch.uint8) if found else torch.empty(0).byte()
    return plain.view(dtype)


def by_definition(raw: bytes) -> bytes:
    """The digest of some bytes in Python's integers."""
    padded = raw + b"\0" * (-len(raw) % (4 * ROW))
    words = [word for (word,) in struct.iter_unpack("<i", padded)]
    table = multipliers()
    found = b"".join(
        (sum(map(int.__mul__, words[start : start + ROW], row)) & (1 << 64) - 1).to_bytes(8, "little")
        for start in range(0, len(words), ROW)
        for row in table
    )
    return xxhash.xxh3_128_digest(found, seed=len(raw))


@pytest.mark.parametrize("device", DEVICES)
def test_digests_are_those_of_the_definition(device: str) -> None:
    """Whatever the dtype, the number of bytes, and what else is in the pass; large ones are read in parts."""
    numbers = np.random.default_rng(0)
    tensors, expected = [], []
    for number, dtype in enumerate(DTYPES):
        long = (4 * ROW - dtype.itemsize, 4 * ROW, 8 * ROW + 16 * number) if number % 5 == 0 else ()
        for size in (0, 1, 7 * number, *long):
            raw = numbers.bytes(size)
            tensors.append(made_of(raw, dtype))
            expected.append(by_definition(whole(raw, dtype)))
    there = [tensor.to(device) for tensor in tensors]
    assert on_device(there) == expected
    assert on_device(there[::-1]) == expected[::-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "_ROWS_AT_ONCE", 2)
        assert on_device(there) == expected
    assert [on_device([tensor])[0] for tensor in there[-6:]] == expected[-6:]


@pytest.mark.parametrize("device", DEVICES)
def test_form_and_settings_of_the_program_do_not_matter(device: str) -> None:
    torch.manual_seed(0)
    plain = torch.randn(6, 5, 4, 4)
    rows = torch.view_as_complex(torch.randn(30, 16, 2)).conj()
    forms = [
        plain,
        plain.flatten(),
        plain.contiguous(memory_format=torch.channels_last),
        torch.stack([plain, plain], dim=-1)[..., 0],
        torch.nn.Parameter(plain),
        torch.cat([torch.zeros(3), plain.flatten()])[3:],
        torch.cat([torch.zeros(1, dtype=torch.uint8), plain.view(torch.uint8).flatten()])[1:],
    ]
    expected = on_device([plain])
    before = torch.get_rng_state()
    threads = torch.get_num_threads()
    torch.use_deterministic_algorithms(True)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(2)
    try:
        with torch.device("meta"), torch.autocast(device):
            assert on_device([form.to(device) for form in forms]) == expected * len(forms)
            assert on_device([rows.imag]) == on_device([rows.imag.resolve_neg().contiguous()])
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(torch.float32)
        torch.use_deterministic_algorithms(False)
    assert torch.equal(before, torch.get_rng_state())


def test_each_sum_notices_any_two_bits_and_any_two_words_that_change_places() -> None:
    """For the numbers as they are, exhaustively: within a row nothing of this cancels out in any sum."""
    for row in multipliers():
        odd = np.array(row, dtype=np.uint64)
        assert (odd % 2 == 1).all()
        # A bit that is flipped adds or takes away its weight times the number of its place.
        flipped = np.concatenate([odd << np.uint64(bit) for bit in range(32)])
        both = np.concatenate([flipped, np.uint64(0) - flipped])
        assert len(np.unique(both)) == len(both) == 64 * ROW
        # Words differ by less than 2**32: 33 bits of the numbers are enough to tell places apart.
        assert len(np.unique(odd % np.uint64(1 << 33))) == ROW


def test_a_constant_added_in_a_regular_pattern_is_noticed() -> None:
    """To a row or its beginning, to every n-th word, to blocks by turns, to one line of a matrix."""
    place = np.arange(ROW)
    patterns = [place < size for size in range(1, ROW + 1)]
    patterns += [place % step == first for step in range(2, 65) for first in range(step)]
    patterns += [place // size % 2 == 0 for size in (1, 2, 3, 4, 8, 16, 64, 100, 512)]
    patterns += [place // width == line for width in (7, 9, 64, 128, 768) for line in range(ROW // width)]
    masks = np.array(patterns, dtype=np.uint64)
    found = np.stack([(masks * np.array(row, dtype=np.uint64)).sum(axis=1) for row in multipliers()])
    # Less than 2**32 times a number that is no multiple of 2**32 is no multiple of 2**64.
    assert (found % np.uint64(1 << 32) != 0).all()


def test_no_two_of_many_like_tensors_have_a_sum_in_common() -> None:
    numbers = np.random.default_rng(1)
    words = numbers.integers(0, 1 << 32, 64, dtype=np.uint32)
    found = [words]
    for place in range(64):
        for bit in range(0, 32, 3):
            changed = words.copy()
            changed[place] ^= np.uint32(1 << bit)
            found.append(changed)
        for other in range(place):
            swapped, signs = words.copy(), words.copy()
            swapped[[place, other]] = words[[other, place]]
            signs[[place, other]] ^= np.uint32(1 << 31)
            found += [swapped, signs]
    found += [words + np.uint32(step) for step in range(1, 300)]
    found += [np.full(64, value, dtype=np.uint32) for value in range(300)]
    found += [np.roll(words, shift) for shift in range(1, 64)]
    found += [np.array(row, dtype=np.uint32) for row in np.ndindex(5, 5, 5, 5)]
    unique = {row.tobytes().ljust(256, b"\0") for row in found}
    assert len(unique) > 5500
    signed = np.frombuffer(b"".join(unique), dtype=np.int32).reshape(-1, 64).astype(np.int64).view(np.uint64)
    for row in multipliers():
        assert len(np.unique((signed * np.array(row[:64], dtype=np.uint64)).sum(axis=1))) == len(unique)
    tensors = [torch.from_numpy(np.frombuffer(row, dtype=np.float32).copy()) for row in unique]
    assert len(set(on_device(tensors))) == len(unique)
    zeros = [torch.zeros(size, dtype=torch.uint8) for size in range(300)]
    assert len(set(on_device(zeros))) == 300


CHANGES = ("nothing", "bit", "swap", "reverse", "sign", "transpose", "byte less")


@settings(max_examples=150)
@given(
    dtype=st.sampled_from(DTYPES),
    raw=st.binary(min_size=1, max_size=200),
    change=st.sampled_from(CHANGES),
    places=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
    among=st.integers(0, 3),
)
def test_both_ways_agree_on_what_differs(
    dtype: torch.dtype, raw: bytes, change: str, places: tuple[int, int], among: int
) -> None:
    before = made_of(raw, dtype)
    changed = bytearray(raw)
    i, j = (place % len(raw) for place in places)
    if change == "bit":
        changed[i] ^= 1 << places[1] % 8
    elif change == "swap":
        changed[i], changed[j] = changed[j], changed[i]
    elif change == "reverse":
        changed.reverse()
    elif change == "sign":
        changed[i] ^= 128
        changed[j] ^= 128
    elif change == "byte less":
        changed = changed[:-1]
    after = made_of(bytes(changed), dtype)
    if change == "transpose" and len(before) % 2 == 0:
        after = before.reshape(2, -1).t()
    others = [made_of(b"\1" * 16 * (n + 1), dtype) for n in range(among)]
    here, there = (
        [way([*others, t, *others])[among] for t in (before, after)] for way in (on_host, on_device)
    )
    assert (here[0] == here[1]) is (there[0] == there[1])


def test_tensors_of_a_gpu_are_digested_there(monkeypatch: pytest.MonkeyPatch) -> None:
    entries: list[Any] = [torch.randn(4), torch.randn(2)]
    titles = [("params", "weight"), ("state", "step")]
    host = Plan(entries, titles)
    assert host.digests(entries)["params"] == on_host(entries)[0].hex()
    # As if they were there: without a GPU there is no device but this one.
    monkeypatch.setattr(torch.Tensor, "is_cuda", property(lambda tensor: tensor is entries[0]))
    plan = Plan(entries, titles)
    assert plan.described["params"] == [("weight", "float32", [4], "sums")]
    assert plan.described["state"] == [("step", "float32", [2])]
    plan.begin(entries)
    found = plan.digests(entries)
    assert found["params"] == on_device(entries)[0].hex()
    assert found["state"] == on_host(entries)[1].hex() == host.digests(entries)["state"]
    assert Plan(entries, titles, "host").digests(entries) == host.digests(entries)


def test_where_digests_are_made_is_no_part_of_a_run(project: Project) -> None:
    plain = find_run("train", project.root).definition()
    project.run_file(RUN + '\n[observe]\ndigests = "host"\n')
    assert find_run("train", project.root).definition() == plain
    project.run_file(RUN + '\n[observe]\ndigests = "gpu"\n')
    assert "observe.digests" in project.golden("list", "--root", project.root).err
