"""Names that tests replace: each must be there, and be read by what it is replaced for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ci.checks.check import Context
from ci.config import Seams
from ci.verdicts import CouldNotRun, Failed, Passed, Place, Verdict
from codemods.api import SeamReaders, SourceError, mentioning, python_files, reads_own, seams_of, shown_path


def seams(context: Context, wanted: Seams) -> Verdict:
    """Look at the seams of one module, and with a base at who read them there."""
    path = context.root / wanted.file
    try:
        found = _readers(context.root, wanted)
        before = _readers(context.base.root, wanted) if context.base and _exists(context, wanted) else ()
    except SourceError as error:
        return CouldNotRun(str(error))
    places = tuple(_lost(found, wanted.file))
    if not places and before:
        places = tuple(_moved_readers(before, found, path, context.root, wanted.file))
    if places:
        return Failed("; ".join(place.message for place in places), places)
    if not found:
        return CouldNotRun(f"no test in {', '.join(wanted.tests)} replaces a name of {wanted.file}")
    return Passed(f"{len(found)} names are replaced, and each is read: {', '.join(s.name for s in found)}")


def _exists(context: Context, wanted: Seams) -> bool:
    return context.base is not None and (context.base.root / wanted.file).is_file()


def _readers(root: Path, wanted: Seams) -> tuple[SeamReaders, ...]:
    tests = [root / folder for folder in wanted.tests]
    return seams_of(root / wanted.file, tests=tests, root=root, names=wanted.names)


def _lost(found: tuple[SeamReaders, ...], file: str) -> Iterator[Place]:
    for seam in found:
        if seam.lost:
            what = "is not there" if not seam.bound else "is read by nothing when it is replaced"
            message = f"{seam.name} of {file} {what}"
            if not seam.places:
                yield Place(message, file)
            for place in seam.places[:1]:
                more = f" and in {len(seam.places) - 1} more places" if len(seam.places) > 1 else ""
                yield Place(
                    f"{message}, but replaced by {place.path}:{place.line}{more}", place.path, place.line
                )


def _moved_readers(
    before: tuple[SeamReaders, ...], found: tuple[SeamReaders, ...], path: Path, root: Path, file: str
) -> Iterator[Place]:
    """Functions that read a seam at the base, and that elsewhere now read a name of their own module."""
    now = {seam.name: set(seam.readers) for seam in found}
    for seam in before:
        if not seam.rebinds:
            continue
        for reader in seam.readers:
            name = reader.rpartition(".")[2]
            if reader in now.get(seam.name, set()) or ":" in reader or not name:
                continue
            for other, _ in mentioning(python_files(root), [name]):
                if other.resolve() != path.resolve() and reads_own(other, seam.name, name):
                    shown = shown_path(other, root)
                    message = f"{name} read {seam.name} of {file}, which tests replace; now that of {shown}"
                    yield Place(message, shown)
