"""Modules and generators of the program's own, beside what optimizers step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from golden.trace.kinds import MODULE_KINDS
from golden.trace.tensors import Tensors, read_tensors


@dataclass(frozen=True, slots=True)
class Form:
    """The tensors of a module, and the names of the modules below it."""

    tensors: Tensors
    modules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModuleState:
    """One module that no other one holds. ``digests`` has, by kind, 32 hex digits per tensor of its form.

    ``training`` has a digit for each of its modules, ``requires_grad`` one for each parameter, ``extra`` what
    `get_extra_state` gives, by path, ``attributes`` the others by path, None where nothing looked at them.
    """

    label: str
    form: Form
    digests: Mapping[str, str]
    training: str
    requires_grad: str
    extra: Mapping[str, str]
    attributes: Mapping[str, str] | None = None

    @property
    def content(self) -> tuple[Any, ...]:
        """All that is compared of it but its attributes, of which the other side may lack some."""
        digests, extra = tuple(self.digests.items()), tuple(self.extra.items())
        return (tuple(self.form.tensors.items()), digests, self.training, self.requires_grad, extra)

    @property
    def group(self) -> str:
        """The class that it is compared within."""
        return self.label.partition("#")[0]


@dataclass(frozen=True, slots=True)
class OwnGenerator:
    """A random generator that the program made itself, and a digest of its state."""

    kind: str
    place: str
    state: str


@dataclass(frozen=True, slots=True)
class Look:
    """The modules and generators on one occasion: before the step ``number``, or ``after`` it; None: the end.

    ``generators`` is None where threads of the program might have drawn from them at any time. Of the end,
    ``gone`` names the modules that went before it, with the look that missed them first; they are among its
    ``modules`` as they were last seen. ``unseeded`` counts generators that were made without a seed, and
    ``unseeded_at`` has places that made some; ``beyond`` counts modules and generators that were too many.
    """

    name: str
    number: int | None
    after: bool
    modules: tuple[ModuleState, ...]
    generators: tuple[OwnGenerator, ...] | None
    gone: Mapping[str, str] = field(default_factory=dict)
    unseeded: int = 0
    beyond: int = 0
    unseeded_at: tuple[str, ...] = ()


@dataclass
class Looks:
    """Reads the looks of one process from its records, in order: each says what is another than before."""

    found: list[Look] = field(default_factory=list)
    unstable_seen: list[str] = field(default_factory=list)
    _forms: dict[int, Form] = field(default_factory=dict)
    _alive: dict[str, ModuleState] = field(default_factory=dict)
    _gone: list[tuple[str, ModuleState]] = field(default_factory=list)
    _generators: tuple[OwnGenerator, ...] | None = ()

    def read(self, record: Mapping[str, Any]) -> bool:
        """Take in one record; false if it is none of this kind."""
        if "form" in record:
            self._forms[record["form"]] = Form(read_tensors(record), tuple(record["modules"]))
            return True
        if "look" not in record:
            return False
        if record.get("whole"):
            self._alive.clear()
        for gone in record["gone"]:
            self._alive.pop(gone["label"], None)
            self._gone.append((record["look"], self._state(gone["label"], gone)))
        for label, state in record["roots"].items():
            self._alive[label] = self._state(label, state)
        if "generators" in record:
            rows = record["generators"]
            self._generators = None if rows is None else tuple(OwnGenerator(*row) for row in rows)
        last = record["number"] is None
        self.unstable_seen = record.get("unstable_seen", [])
        went = self._gone if last else []
        every = (*(module for _, module in went), *self._alive.values())
        modules = tuple(sorted(every, key=lambda module: int(module.label.rpartition("#")[2])))
        self.found.append(
            Look(
                record["look"],
                record["number"],
                record["after"],
                modules,
                self._generators,
                {module.label: look for look, module in went},
                record.get("unseeded", 0),
                record.get("beyond", 0),
                tuple(record.get("unseeded_at", ())),
            )
        )
        return True

    def _state(self, label: str, state: Mapping[str, Any]) -> ModuleState:
        form = self._forms[state["form"]] if "form" in state else Form(dict.fromkeys(MODULE_KINDS, ()), ())
        digests = {kind: state.get(kind, "") for kind in MODULE_KINDS}
        return ModuleState(
            label,
            form,
            digests,
            state["training"],
            state["requires_grad"],
            state.get("extra", {}),
            state.get("attributes"),
        )
