"""Fenced regions: where a loop synchronises and transfers in batches, in number and order, as at the base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ci.checks.check import Context
from ci.verdicts import CouldNotRun, Failed, Passed, Place, Verdict
from codemods.device import Region, RegionChange, compare_regions, regions_of
from codemods.program import SourceError, python_files, read_source, shown_path


def fences(context: Context, paths: Iterable[str]) -> Verdict:
    """Compare the regions of all functions; one that moved to another function or file is the same."""
    base = context.base
    if base is None:
        return CouldNotRun("there is no base to compare with; give one with --base REF")
    wanted = tuple(paths)
    try:
        before, after = _regions(base.root, wanted), _regions(context.root, wanted)
    except SourceError as error:
        return CouldNotRun(str(error))
    if not before and not after:
        return CouldNotRun(f"nothing in {', '.join(wanted)} synchronises or transfers")
    where = {id(region): path for path, region in (*before, *after)}
    changes = compare_regions([region for _, region in before], [region for _, region in after])
    places = tuple(_place(change, where) for change in changes)
    if places:
        return Failed("; ".join(place.message for place in places[:3]), places)
    waits = sum(len(region.steps) for _, region in after)
    return Passed(f"{waits} waits in {len(after)} regions, in number and order as at {base.ref}")


def _regions(root: Path, paths: tuple[str, ...]) -> list[tuple[str, Region]]:
    files = dict.fromkeys(file for path in paths for file in python_files(root / path) if file.exists())
    return [
        (shown_path(file, root), region)
        for file in files
        for region in regions_of(read_source(file, shown_path(file, root)))
    ]


def _place(change: RegionChange, where: dict[int, str]) -> Place:
    region = change.after or change.before
    assert region is not None
    loop = f"`{region.loop}`" if region.loop else "the code outside of loops"
    before, after = _words(change.before), _words(change.after)
    message = f"{loop} in {region.function} waited: {before}; now: {after}"
    line = change.after.steps[0].line if change.after else None
    return Place(message, where[id(region)], line)


def _words(region: Region | None) -> str:
    return ", ".join(_steps(region)) if region is not None else "not at all"


def _steps(region: Region) -> Iterator[str]:
    for step in region.steps:
        yield f"{step.kind} {step.text}"
