"""Everything that lives in a process, looked at on some occasions: modules, and generators of its own.

Of every module that no other one holds: its parameters and buffers, which modules are in training, which
parameters want gradients, attributes, and extra state. A module that goes before the end is looked at as it
goes.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from ..trace.extra_state import describe
from ..trace.kinds import MODULE_KINDS
from ..trace.paths import Patterns
from .attributes import Attributes, shared
from .generators import OwnGenerators, Row, other_threads
from .hooks import unseen
from .naming import ModuleRegistry, walk
from .plan import Plan, Where

_AT_MOST = 256
_NO_EXTRA = nn.Module.get_extra_state
_Tables = list[tuple[str, dict[str, Any], dict[str, Any]]]


class _Followed:
    """The state of one root at the look before."""

    def __init__(self, label: str, attributes: Attributes) -> None:
        self.label, self.attributes = label, attributes
        # What holds its tensors, which outlives it by a moment: never the tensors, which it may replace.
        self.tables: _Tables = []
        self.plan: Plan | None = None
        self.named_for: list[tuple[str, str]] = []
        self.form = -1
        self.state: dict[str, Any] = {}


class Living:
    """Looks at what lives, and writes what is another than at the look before.

    ``write`` takes a record; ``quietly`` is a context in which the host's reads aren't counted; ``digests``
    says where digests are made.
    """

    def __init__(
        self,
        registry: ModuleRegistry,
        write: Callable[[dict[str, Any]], None],
        quietly: Callable[[], AbstractContextManager[Any]],
        unstable: Patterns,
        digests: Where,
    ) -> None:
        self._registry, self._generators = registry, OwnGenerators()
        self._write, self._quietly, self._unstable = write, quietly, unstable
        self._where: Where = digests
        self.reset()

    def install(self) -> None:
        """Listen to makers of generators."""
        self._generators.install()

    def reset(self) -> None:
        """Forget what was seen, as a forked process must."""
        self._pid = os.getpid()
        self.failed = ""
        # Names of what can't be read.
        self.unread: dict[str, None] = {}
        self._followed: weakref.WeakKeyDictionary[nn.Module, _Followed] = weakref.WeakKeyDictionary()
        self._by_number: dict[int, _Followed] = {}
        self._gone: list[dict[str, Any]] = []
        self._forms = self._numbered = self._beyond = 0
        self._rows: list[Row] | None = []
        self._unstable.seen.clear()

    def look(self, name: str, number: int | None, *, after: bool = False) -> None:
        """Write what changed since the last look; ``number`` is the step before or ``after`` which it is.

        Once that has failed, nothing: what a module does when it is looked at must not end the program.
        """
        if self.failed:
            return
        try:
            self._write(self._changes(name, number, after))
        except Exception as error:
            self.failed = type(error).__name__

    def _changes(self, name: str, number: int | None, after: bool) -> dict[str, Any]:
        roots: dict[str, dict[str, Any]] = {}
        beyond = 0
        for root in self._registry.roots():
            followed = self._follow(root)
            if followed is None:
                beyond += 1
                continue
            state = self._state(root, followed)
            if state and state != followed.state:
                roots[followed.label] = followed.state = state
        self._beyond = max(self._beyond, beyond)
        gone, self._gone = self._gone, []
        record: dict[str, Any] = {"look": name, "number": number, "after": after}
        record |= {"roots": roots, "gone": gone}
        rows = None if other_threads() else self._generators.rows()
        if rows != self._rows:
            record["generators"] = self._rows = rows
        if number is None:
            record["unseeded"] = self._generators.unseeded
            record["unseeded_at"] = self._generators.unseeded_at
            record["beyond"] = self._beyond + self._generators.beyond
            record["unstable_seen"] = sorted(self._unstable.seen)
        return record

    def _follow(self, root: nn.Module) -> _Followed | None:
        found = self._followed.get(root)
        if found is None:
            if len(self._by_number) >= _AT_MOST:
                return None
            attributes = Attributes(self._unstable, self.unread)
            found = self._followed[root] = _Followed(self._registry.label(root), attributes)
            number, self._numbered = self._numbered, self._numbered + 1
            self._by_number[number] = found
            weakref.finalize(root, self._on_death, number, self._pid).atexit = False
        return found

    def _state(self, root: nn.Module, followed: _Followed) -> dict[str, Any]:
        modules = [(prefix, chain[-1]) for prefix, chain in walk(root)]
        followed.tables = [(prefix, m._parameters, m._buffers) for prefix, m in modules]
        state = self._digests(followed)
        if not state and not any(map(_has_extra, (m for _, m in modules))):
            followed.tables = []
            return {}
        state["training"] = "".join("01"[m.training] for _, m in modules)
        wants = (p.requires_grad for _, held, _ in followed.tables for p in held.values() if p is not None)
        state["requires_grad"] = "".join("01"[wanted] for wanted in wants)
        told = followed.attributes.told(modules)
        state["attributes"] = {**told, "(names of one tensor)": shared(followed.tables)}
        if any(_may_hold_a_module(p) for _, held, _ in followed.tables for p in held.values()):
            # It would live as long as its tensors are held here.
            followed.tables = []
        extra = {f"{prefix}{path}": text for prefix, m in modules for path, text in self._extra(m)}
        return {**state, "extra": extra} if extra else state

    def _extra(self, module: nn.Module) -> Iterator[tuple[str, str]]:
        if not _has_extra(module):
            return
        with self._quietly(), torch.no_grad():
            try:
                yield from describe(module.get_extra_state(), self._unstable)
            except Exception as error:
                yield "", f"({type(error).__name__})"

    def _digests(self, followed: _Followed) -> dict[str, Any]:
        """Return the form and the digests of what a root's tables hold now; empty for none."""
        names: list[tuple[str, str]] = []
        entries: list[torch.Tensor] = []
        # Buffers first, as a plan has them.
        for number, kind in enumerate(("buffers", "params")):
            for prefix, *tables in followed.tables:
                for name, tensor in tables[1 - number].items():
                    if tensor is not None and not _unreadable(tensor):
                        names.append((kind, f"{prefix}{name}"))
                        entries.append(tensor)
        if not entries:
            return {}
        plan = followed.plan
        tensors = plan.tensors(entries) if plan is not None and names == followed.named_for else None
        if plan is None or tensors is None:
            plan = followed.plan = Plan(entries, names, self._where)
            tensors = plan.dense(entries)
            self.unread |= dict.fromkeys(plan.unread)
            followed.named_for = names
            followed.form, self._forms = self._forms, self._forms + 1
            described = {kind: plan.described[kind] for kind in MODULE_KINDS}
            modules = [prefix.rstrip(".") for prefix, _, _ in followed.tables]
            self._write({"form": followed.form, "tensors": described, "modules": modules})
        found = plan.digests(tensors)
        return {"form": followed.form, **{kind: found[kind] for kind in MODULE_KINDS}}

    def _on_death(self, number: int, pid: int) -> None:
        followed = self._by_number.pop(number, None)
        if followed is None or pid != os.getpid() or not followed.state:
            return
        try:
            with unseen():
                now = self._digests(followed)
        except Exception as error:
            self.failed, now = type(error).__name__, {}
        state = {**followed.state, **now} if now else followed.state
        followed.tables = []
        self._gone.append({"label": followed.label, **state})


def _has_extra(module: nn.Module) -> bool:
    return type(module).get_extra_state is not _NO_EXTRA


def _may_hold_a_module(parameter: Any) -> bool:
    return parameter is not None and bool(
        parameter._backward_hooks or parameter._post_accumulate_grad_hooks or parameter.__dict__
    )


def _unreadable(tensor: torch.Tensor) -> bool:
    return tensor.is_meta or (type(tensor) is not nn.Parameter and bool(is_lazy(tensor)))
