"""Ids, and paths below folders of temporary files: texts of outputs that may be others in every run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from golden.trace.outputs import mapped
from golden.trace.trace import Trace

TEMPORARY = r"(?<![\w/])/(?:tmp|var/tmp|dev/shm)/[^\s'\",:)]+"
_RULES = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(TEMPORARY), "<temporary>"),
)


def without_ids(text: Any) -> Any:
    """Return a text with marks instead of ids and temporary paths, any other value as it is."""
    if isinstance(text, str):
        for pattern, put in _RULES:
            text = pattern.sub(put, text)
    return text


def leave_out_ids(trace: Trace) -> Trace:
    """Return the trace with marks instead of ids and temporary paths in its outputs."""
    outputs = tuple(
        replace(output, rows=tuple(mapped(row, lambda _, value: without_ids(value)) for row in output.rows))
        if output.kind not in ("tensorboard", "binary")
        else output
        for output in trace.outputs
    )
    return replace(trace, outputs=outputs)
