"""Decide for a set of helpers which are lifted and which stay, and under which names: those that mean nothing
else where they are defined or called.
"""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from codemods.program.lifting import Analysis, Helper, Lifting
from codemods.program.surroundings import Surroundings
from codemods.rewrites.refusals import Accepted, Refusal, Refusals, refused_by
from codemods.rewrites.rules import assumptions, calls, definition


def fits_elsewhere(lifting: Lifting, helper: Helper) -> Refusals:
    """In another module the helper's globals mean the same."""
    if lifting.foreign:
        from codemods.rewrites.rules import moving

        yield from moving.globals_travel(lifting, helper)
        yield from moving.passed_globals_settled(lifting, helper)


# In the order in which they are tried; the first refusal counts.
CHECKS: tuple[Callable[[Lifting, Helper], Refusals], ...] = (
    # Before names are compared: the scope of type parameters is no function's.
    definition.understood,
    definition.no_class_cell,
    assumptions.no_dynamic_names,
    assumptions.not_looked_at,
    calls.no_shared_writes,
    calls.bound_once,
    calls.defined_first,
    definition.plain_definition,
    definition.annotations_safe,
    calls.only_called,
    calls.captures_settled,
    fits_elsewhere,
    assumptions.lifetimes_unseen,
)


@dataclass(frozen=True, slots=True)
class Decision:
    """The helpers that can be lifted together, in the order of the text, and the refusals of the others."""

    lifting: Lifting
    lifted: list[Helper]
    refused: dict[Helper, Refusal]


def decide(
    analysis: Analysis,
    wanted: Collection[Helper],
    foreign: Mapping[Helper, frozenset[str]] | None = None,
    seams: frozenset[str] = frozenset(),
    refused: Mapping[Helper, Refusal] | None = None,
    accepted: Accepted | None = None,
) -> Decision:
    """Refuse what some rule forbids until the rest can be lifted together.

    ``foreign`` and ``seams`` are as in `Lifting`; ``refused`` are refusals known beforehand;
    ``accepted`` assumptions refuse nothing.
    """
    refusals = dict(refused or {})
    candidates = {helper for helper in wanted if helper not in refusals}
    while True:
        lifting = Lifting(analysis, candidates, foreign or {}, seams)
        found = refused_by(candidates, partial(_check, lifting), accepted)
        if not found:
            return _retried(lifting, refusals, refused or {}, accepted)
        refusals.update(found)
        candidates = candidates - found.keys()


def _retried(
    lifting: Lifting,
    refusals: dict[Helper, Refusal],
    final: Mapping[Helper, Refusal],
    accepted: Accepted | None,
) -> Decision:
    """Try once more what may have been refused only because of another helper that was refused with it."""
    for helper in sorted(refusals, key=lambda h: h.node.lineno):
        calls_refused = any(
            lifting.analysis.helper_at(owner, name) in refusals for name, owner, _ in helper.reads
        )
        if helper in final or not calls_refused:
            continue
        larger = Lifting(lifting.analysis, lifting.candidates | {helper}, lifting.foreign, lifting.seams)
        near = [candidate for candidate in larger.candidates if candidate.root is helper.root]
        if not refused_by(near, partial(_check, larger), accepted):
            lifting = larger
    lifted = sorted(lifting.candidates, key=lambda helper: (helper.node.lineno, helper.node.col_offset))
    return Decision(lifting, lifted, {h: r for h, r in refusals.items() if h not in lifting.candidates})


def _check(lifting: Lifting, helper: Helper) -> Refusals:
    for check in CHECKS:
        yield from check(lifting, helper)


@dataclass(frozen=True, slots=True)
class Names:
    """Names of a lifted helper: at its definition, and where each caller (None: the source) refers to
    it.
    """

    definition: str
    calls: dict[Helper | None, str]


class FileNames:
    """The names that occur in a file, and those given out so far."""

    def __init__(self, analysis: Analysis, surroundings: Surroundings | None = None) -> None:
        self.analysis = analysis
        self.tree = analysis.tree
        self.surroundings = surroundings
        self._owners: dict[str, set[object]] = {}
        for owner, name in (*self.tree.uses, *self.tree.binders, *self.tree.declared):
            self._owners.setdefault(name, set()).add(owner)
        self._taken: set[str] = set()

    def free(self, name: str, helper: Helper) -> bool:
        """Tell whether a module-level name would mean the lifted helper and nothing else."""
        if name in self._taken or hasattr(builtins, name) or is_hook(name):
            return False
        if name in self.tree.strings or name in self.tree.attributes:
            return False
        if self.surroundings is not None and self.surroundings.taken(name):
            return False
        return self._owners.get(name, set()) <= ({helper.outer} if name == helper.name else set())

    def choose(self, helper: Helper, wanted: str | None) -> str:
        """The wanted name if it is free, else one like it that is; it is taken from now on."""
        name = next(name for name in self._candidates(helper, wanted) if self.free(name, helper))
        self._taken.add(name)
        return name

    def _candidates(self, helper: Helper, wanted: str | None) -> Iterator[str]:
        """Private, so that no star import or test collector finds it; two underscores would be mangled."""
        if wanted is not None:
            yield wanted
        bare = helper.name.strip("_") if is_special(helper.name) else helper.name.lstrip("_")
        if bare:
            yield f"_{bare}"
        yield from qualified_names(helper)


def is_hook(name: str) -> bool:
    """Tell whether loaders of tests and plugins look for a name in modules."""
    return name.lower().startswith(("test", "pytest_", "setup", "teardown")) or name == "load_tests"


def is_special(name: str) -> bool:
    """Tell whether a name means something to the interpreter at module level."""
    return name.startswith("__") and name.endswith("__")


def qualified_names(helper: Helper) -> Iterator[str]:
    """Names made of the outer function's and the helper's, without end."""
    stem = f"_{helper.outer.name.strip('_') or 'outer'}_{helper.name.strip('_') or 'helper'}"
    yield stem
    for number in itertools.count(2):
        yield f"{stem}_{number}"


def usable_in(lifting: Lifting, caller: Helper, name: str, callee: Helper) -> bool:
    """Tell whether a global name can be used inside a lifted caller to mean the callee."""
    if any(need == name for need, _ in lifting.needs[caller]):
        return False
    tree, own = lifting.tree, (callee.outer, callee.scope.name)
    scopes = [b.scope for key, found in tree.binders.items() if key[1] == name and key != own for b in found]
    scopes += [u.scope for key, found in tree.uses.items() if key[1] == name and key != own for u in found]
    return not hasattr(builtins, name) and not any(scope.inside(caller.scope) for scope in scopes)
