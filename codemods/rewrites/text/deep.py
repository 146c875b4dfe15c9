"""Room for deeply nested programs: libcst's parser and its passes go down as deep as a program does."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

import libcst as cst

T = TypeVar("T")


class Plain:
    """A visitor that is told of nodes and not of their attributes, which takes half the time."""

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        """Nothing hangs on it."""

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        """Nothing hangs on it."""


_STACK = 256 * 1024 * 1024
_LEVELS = 60_000


def deep(work: Callable[[], T]) -> T:
    """Do something with room for deeply nested programs, on a stack that is large enough for it.

    Raises:
        RecursionError: if it is not.
    """
    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK)
    try:
        sys.setrecursionlimit(max(limit, _LEVELS))
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if failed:
        raise failed[0]
    return found[0]
