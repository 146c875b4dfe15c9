"""Digests of one tensor that were made in two ways: they say nothing about each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from golden.compare.outcome import NotComparable
from golden.trace.living import Form
from golden.trace.trace import KINDS, Layout

_SHOWN = 2
_WAY_OUT = "with one `digests` in [observe] of its run file"


def unlike(left: Layout, right: Layout) -> Iterator[tuple[str, str]]:
    """Kind and name of the tensors that both layouts have, with digests made otherwise."""
    for kind in KINDS:
        made = {info.name: info.digest for info in left.tensors[kind]}
        for info in right.tensors[kind]:
            if info.elements and made.get(info.name, info.digest) != info.digest:
                yield kind, info.name


def unlike_in(left: Form, right: Form, kind: str) -> set[str]:
    """The same for a module, of one kind: the names."""
    made = _made(left, kind)
    return {name for name, how in _made(right, kind).items() if made.get(name, how) != how}


def _made(form: Form, kind: str) -> dict[str, str]:
    rows = zip(form.tensors[kind], form.made[kind], strict=True)
    return {name: how for (name, _, shape), how in rows if 0 not in shape}


def told(names: Sequence[str]) -> tuple[str, ...]:
    """What is not compared, in words; nothing where nothing is left out."""
    return (f"digests of {_shown(names)}, made otherwise on each side",) if names else ()


def not_comparable(names: Sequence[str]) -> NotComparable:
    """The verdict where nothing else differs."""
    return NotComparable(
        f"digests of {_shown(names)} were made on the host on one side and on the device on the other, which "
        f"says nothing about the tensors; nothing else differs. Record both again, {_WAY_OUT}"
    )


def golden_not_comparable() -> NotComparable:
    """The same for a golden."""
    return NotComparable(
        "the golden has digests of tensors that were made on the host where this run's were made on the "
        "device, or the other way round, which says nothing about the tensors; what it keeps apart from them "
        "agrees. Record the golden again with `golden record RUN --update`, or the run as the golden was, "
        'with digests = "host" (or "device") in [observe] of its run file'
    )


def _shown(names: Sequence[str]) -> str:
    more = ", …" if len(names) > _SHOWN else ""
    return f"{len(names):,} tensor{'' if len(names) == 1 else 's'} ({', '.join(names[:_SHOWN])}{more})"
