"""A first attempt whose run did not work, and which is made again with other arguments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ci.init.hot_loops import BASELINE
from ci.init.propose import TABLE, not_yet
from golden.record.run import RUNS_FOLDER

_PROJECT = Path("pyproject.toml")


@dataclass(frozen=True, slots=True)
class Again:
    """What an attempt before wrote.

    Attributes:
        before: what pyproject.toml held before it.
        table: what it added there.
        runs: its runs that do not work, by name.
    """

    before: str
    table: str
    runs: tuple[str, ...]

    @classmethod
    def of(cls, root: Path) -> Again | None:
        """The attempt that failed in a repository; None where there is none, or its run works by now."""
        project = root / _PROJECT
        text = project.read_text("utf-8") if project.is_file() else ""
        before, mark, table = text.partition(TABLE)
        runs = [
            path.stem
            for path in sorted((root / RUNS_FOLDER).glob("*.toml"))
            if path.read_text("utf-8", "replace").startswith(not_yet(""))
        ]
        if not mark or not any(f'"{name}"' in table for name in runs):
            return None
        return cls(before[:-1] if before.endswith("\n\n") else before, mark + table, tuple(runs))

    @property
    def files(self) -> tuple[Path, ...]:
        """Files of it that may be written anew."""
        return (*(RUNS_FOLDER / f"{name}.toml" for name in self.runs), Path(BASELINE))

    def others(self, name: str) -> tuple[Path, ...]:
        """Its runs that are not the one called ``name``."""
        return tuple(RUNS_FOLDER / f"{other}.toml" for other in self.runs if other != name)

    def unchanged(self, table: str, name: str) -> bool:
        """Whether nobody has changed the table that it added, by the one that would be added now."""
        now = _settings(table.replace(f'"{name}"', '""'))
        return any(_settings(self.table.replace(f'"{other}"', '""')) == now for other in self.runs)


def _settings(table: str) -> list[str]:
    lines = (line.strip() for line in table.splitlines())
    # Whether events were seen is another thing each time.
    return [line for line in lines if line and not line.startswith(("#", "counts ="))]
