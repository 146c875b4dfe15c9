"""The text of a plan that the audit proposes, and whether it can be carried out."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.audit.loop import Loop
from codemods.plans.run import run_plan
from codemods.plans.site import Layout
from codemods.program.repository import import_base
from codemods.program.source import Unusable
from codemods.rewrites.refusals import Refusal


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes plans for a file as TOML, which reads strings as JSON writes them."""

    layout: Layout
    tests: Sequence[str]
    accepted: Mapping[str, str]

    @property
    def parts(self) -> Path:
        """A new file for definitions of the module."""
        stem = self.layout.source.stem
        return self._new(stem if stem.isidentifier() else "module", "_parts")

    def _new(self, stem: str, ending: str) -> Path:
        """Choose a new file beside the module."""
        source = self.layout.source
        base = source.parent if source.stem != "__main__" else import_base(source)
        names = (f"{stem.strip('_')}{ending}{number or ''}.py" for number in (0, *range(2, 100)))
        return next(path for name in names if not (path := base / name).exists())

    def plan(self, moved: Sequence[str], helpers: Sequence[str], loop: Loop | None) -> str:
        """Write a plan for names of the module, a loop, and helpers of the loop's function."""
        lines = ["version = 1", f"source = {self._quoted(self.layout.source)}"]
        if loop is not None:
            lines.append(f"function = {_quoted(loop.function)}")
        lines += self._move(self.parts, moved)
        if loop is not None:
            lines += self._move(self._new(loop.function, "_helpers"), helpers)
            lines += ["", "[loop]", f"class = {_quoted(loop.class_name)}"]
            lines += [f"to = {self._quoted(self._new(loop.function, '_loop'))}", f"at = {loop.at}"]
        for code, reason in self.accepted.items():
            lines += ["", "[[accept]]", f"code = {_quoted(code)}", f"reason = {_quoted(reason)}"]
        if self.tests:
            lines += ["", "[seams]", f"tests = [{', '.join(map(_quoted, self.tests))}]"]
        return "\n".join(lines) + "\n"

    def _move(self, to: Path, names: Sequence[str]) -> list[str]:
        listed = [f"    {_quoted(name)}," for name in names]
        return ["", "[[move]]", f"to = {self._quoted(to)}", "names = [", *listed, "]"] if names else []

    def _quoted(self, path: Path) -> str:
        return _quoted(self.layout.shown(path))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def tried(plan: str, root: Path) -> tuple[str, Refusal] | str | None:
    """Carry a plan out in memory; say why it can't be: what of it is refused, or a line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plan.toml")
        path.write_text(plan, encoding="utf-8")
        try:
            refused = run_plan(path, root).refused
        except Unusable as error:
            return str(error).removeprefix(f"{path}: ")
    found = ((row.name, row.refusal) for row in refused if row.refusal is not None)
    return next(found, None)
