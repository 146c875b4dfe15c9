"""What a program that failed said last, and the line of it where that happened."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Sequence
from pathlib import Path

BEGINS = "Traceback (most recent call last):"
"""The first line of what Python prints of an exception."""
# How torchrun begins the lines of a rank's exception, and what it raises itself.
_OF_RANK = re.compile(r"^\[rank\d+\]: ?")
_LOG = re.compile(r"^[DIWEC]\d{4} [\d:.]+ \d+ \S*torch/distributed/")
_LAUNCHER = re.compile(r"^(?:[\w.]+\.)?ChildFailedError:\s*$")
_FRAME = re.compile(r'^ *File "([^"]+)", line (\d+)(?:, in (.+))?$')
_RAISED = re.compile(r"[A-Za-z_][\w.]*(: |$)")
_LONGEST = 500
_TERMINATED = "terminate called without an active exception"
_OUTLIVED = (
    " (torch's threads outlived the interpreter: before destroy_process_group() free the wrappers of models,"
    " and import torch.distributed.nn before init_process_group(), or it holds the group)"
)
_GOLDEN = Path(__file__).resolve().parents[1]


def printed(stderr: Path) -> list[str]:
    """The lines that a program printed, without empty ones and without what torchrun adds."""
    lines = [line for line in stderr.read_text(errors="replace").splitlines() if line.strip()]
    if any(map(_LAUNCHER.match, lines)):
        lines = lines[: max((index for index, line in enumerate(lines) if line == BEGINS), default=0)]
        lines = [line for line in lines if not _LOG.match(line)] or lines
    return [_OF_RANK.sub("", line) for line in lines]


def said_last(lines: list[str], root: Path) -> str:
    """The last line printed; behind a traceback its innermost frame."""
    if not lines:
        return "(nothing on stderr)"
    outlived = _OUTLIVED if lines[-1].startswith(_TERMINATED) else ""
    return f"{_last(lines, root)}{outlived}"


def _last(lines: list[str], root: Path) -> str:
    place = _place(lines, root.resolve())
    return _exception(lines)[:_LONGEST] + (f" ({place})" if place else "")


def _exception(lines: list[str]) -> str:
    """The last line; of an exception whose message has several, the first one before it."""
    last = lines[-1].strip()
    begins = [index for index, line in enumerate(lines) if line.strip() == BEGINS]
    if not begins:
        return last
    raised = next((line for line in lines[begins[-1] + 1 :] if not line[0].isspace()), last)
    return last if raised.strip() == last or not _RAISED.match(raised) else f"{raised.strip()} … {last}"


def _place(lines: list[str], root: Path) -> str | None:
    begins = [index for index, line in enumerate(lines) if line.strip() == BEGINS]
    if not begins:
        return None
    found = [frame for line in lines[begins[-1] :] if (frame := _FRAME.match(line))]
    return place_of([(frame[1], int(frame[2]), frame[3] or "<module>") for frame in found], root)


def place_of(frames: Sequence[tuple[str, int, str]], root: Path) -> str | None:
    """The innermost of some frames (file, line, function) that is in the tree."""
    for file, line, name in reversed(frames):
        path = root / file
        if path.is_relative_to(root) and path.is_file() and not _foreign(path):
            return f"{path.relative_to(root)}:{line}" + (f", in {name}" if name != "<module>" else "")
    return None


def _foreign(path: Path) -> bool:
    installed = [Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib", "stdlib")]
    return any(path.is_relative_to(folder) for folder in (*installed, _GOLDEN))
