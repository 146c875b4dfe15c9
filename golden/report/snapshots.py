"""Goldens as syrupy snapshots."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from golden.check.ab import doctor
from golden.check.fixtures import FOLDER, dump, write_whole
from golden.check.properties import Recordings, judge_property
from golden.check.verify import (
    Judged,
    check_goldens,
    check_keepable,
    common_of,
    golden_of,
    judge,
    place,
    refuse_under_ci,
)
from golden.compare import Comparison, Identical
from golden.record import Run
from golden.report.text import tolerance_lines
from golden.report.verdicts import render_verdict
from golden.trace.errors import GoldenError, NothingComparable
from golden.trace.summary import Summary

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion
    from syrupy.data import SnapshotCollection
    from syrupy.location import PyTestLocation


class GoldenExtension(SingleFileSnapshotExtension):
    """One JSON file per run and fingerprint beside the run files; never removes what it did not run."""

    _write_mode = WriteMode.TEXT
    file_extension = "json"

    def serialize(self, data: Any, **_: Any) -> str:
        """A golden is text already."""
        return str(data)

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder of the run's goldens."""
        root = Path(test_location.filepath).parent.parent.parent
        return str(root / FOLDER / test_location.testname)

    @classmethod
    def get_file_basename(cls, *, test_location: PyTestLocation, index: Any) -> str:
        """The name given to the assertion: the fingerprint's."""
        del test_location
        return str(index)

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        """Whether a golden is of a run."""
        return Path(snapshot_location).parent.name == test_location.testname

    def discover_snapshots(self, **_: Any) -> SnapshotCollections:
        """None: a golden of another machine is not unused, whatever ran here."""
        return SnapshotCollections()

    def delete_snapshots(self, **_: Any) -> None:
        """Never."""

    @classmethod
    def write_snapshot_collection(
        cls, *, snapshot_collection: SnapshotCollection, name_order: dict[str, int] | None = None
    ) -> None:
        """Write each golden whole or not at all."""
        del name_order
        for snapshot in snapshot_collection:
            write_whole(Path(snapshot_collection.location), str(snapshot.data))

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        """Whether the bits are the same; how a fingerprint is spelled out does not count."""
        now, before = _summary(serialized_data), _summary(snapshot_data)
        if now is None or before is None:
            return bool(serialized_data == snapshot_data)
        return now.whole == before.whole


def _summary(text: Any) -> Summary | None:
    """The summary that a golden holds; None for what holds everywhere."""
    table = json.loads(str(text))
    return Summary.model_validate(table["summary"]) if "summary" in table else None


def judge_property_as_test(run: Run, name: str, recordings: Recordings) -> list[str]:
    """Fail unless a property of a run holds; what passed by a tolerance only."""
    try:
        verdict = judge_property(run, name, recordings)
    except NothingComparable as error:
        _skip_without_device(run, error)
        pytest.fail(str(error), pytrace=False)
    except GoldenError as error:
        pytest.fail(str(error), pytrace=False)
    if verdict.code:
        pytest.fail(render_verdict(verdict), pytrace=False)
    return [line for agreement in verdict.agreements for line in _tolerated(agreement.comparison)]


def _tolerated(found: Comparison) -> list[str]:
    return tolerance_lines(found.tolerated) if isinstance(found, Identical) else []


def _skip_without_device(run: Run, error: NothingComparable) -> None:
    if not run.device.startswith("cuda"):
        return
    import torch

    if not torch.cuda.is_available():
        pytest.skip(str(error))


def judge_by_snapshot(
    run: Run, snapshot: SnapshotAssertion, recordings: Recordings, *, root: Path, out: Path
) -> list[str]:
    """Run once and fail unless the run equals its golden; with ``--snapshot-update`` renew the golden.

    What passed by a tolerance only.
    """
    stored = snapshot.use_extension(GoldenExtension)
    try:
        if snapshot.session.update_snapshots:
            refuse_under_ci()
            _update(run, stored, root, out)
            return []
        check_goldens(run, root)
        trace = recordings.trace()
        verdict = judge(run, trace, root)
    except NothingComparable as error:
        _skip_without_device(run, error)
        pytest.fail(str(error), pytrace=False)
    except GoldenError as error:
        pytest.fail(str(error), pytrace=False)
    if not isinstance(verdict, Judged) or verdict.code:
        pytest.fail(render_verdict(verdict), pytrace=False)
    if not stored(name=verdict.golden) == dump(golden_of(run, trace)):  # noqa: SIM201 - syrupy defines equality only
        pytest.fail(render_verdict(verdict), pytrace=False)
    return _tolerated(verdict.comparison)


def _update(run: Run, stored: SnapshotAssertion, root: Path, out: Path) -> None:
    check_keepable(run)
    result = doctor(run, root=root, out=out)
    if not isinstance(result.comparison, Identical):
        pytest.fail(f"{run.name} differs from itself on a second run, so it gets no golden", pytrace=False)
    path, golden = place(golden_of(run, result.left), run, root)
    # Comparing is what writes, when syrupy updates.
    for name, text in (
        (path.stem, dump(golden)),
        ("common", dump(common_of(run, result.left))),
    ):
        assert stored(name=name) == text
