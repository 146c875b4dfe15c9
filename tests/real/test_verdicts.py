"""No verdict on a public repository is worse than the committed one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.real import tables
from benchmarks.real.compare import differences
from benchmarks.real.corpus import Program, unpack
from benchmarks.real.measure import files_of, measure, stage_of

FILES = 6
NAMES = sorted(path.stem for path in tables.FOLDER.glob("verdicts/*.txt"))


def assert_none_worse(program: Program, folder: Path, stage: str, limit: int) -> None:
    """Measure a stage on some of its files, spread evenly; compare what is said about those."""
    root = unpack(program, folder)
    files = files_of(stage, root)
    chosen = files[:: max(1, -(-len(files) // limit))]
    found = measure(stage, program, root, chosen)
    before = [line for line in tables.committed(program.name) if stage_of(line) == stage]
    shown = {path.relative_to(root).as_posix() for path in chosen}
    before = [line for line in before if line.split(" ")[1].rstrip(":") in shown]
    worse = [line for each in differences(before, found) if each.step < 0 for line in each.lines]
    assert not worse, "\n".join([f"{program.name}: make real shows all", *worse])


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["helpers", "loops"])
@pytest.mark.parametrize("name", NAMES)
def test_no_verdict_of_a_sample_is_worse(
    name: str, stage: str, programs: dict[str, Program], tmp_path: Path
) -> None:
    if name not in programs:
        pytest.skip("a package of the registry; make real fetches it")
    assert_none_worse(programs[name], tmp_path, stage, FILES)


def test_two_thousand_helpers_have_a_verdict() -> None:
    helpers = [line for name in NAMES for line in tables.committed(name) if line.startswith("helper ")]
    assert len(helpers) >= 2_000
    assert all(
        verdict.startswith(("lifted", "refused ")) for _, _, verdict in (h.partition(": ") for h in helpers)
    )
