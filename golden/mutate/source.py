"""A file as operators see it: nodes of libcst, the bytes that each stands for, edits of those bytes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, CodeSpan, MetadataWrapper, ParentNodeProvider


@dataclass(frozen=True, slots=True)
class Edit:
    """A stretch of a file, in bytes of UTF-8, and what stands there instead."""

    start: int
    end: int
    text: bytes

    def applied(self, data: bytes) -> bytes:
        """Return the file with the edit."""
        return data[: self.start] + self.text + data[self.end :]


class Source:
    """One parsed file.

    Raises `libcst.ParserSyntaxError`, `UnicodeError`, `LookupError` for an encoding that there isn't, and
    ValueError where it is not in UTF-8, or libcst does not keep it as it is.
    """

    def __init__(self, data: bytes) -> None:
        module = cst.parse_module(data)
        self.data = data
        if module.code.encode() != data:
            raise ValueError("not in UTF-8, a byte order mark, or form feeds")
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self.module = wrapper.module
        self._spans: Mapping[cst.CSTNode, CodeSpan] = wrapper.resolve(ByteSpanPositionProvider)
        self._parents: Mapping[cst.CSTNode, cst.CSTNode] = wrapper.resolve(ParentNodeProvider)
        self._starts = [0, *(at + 1 for at, byte in enumerate(self.data) if byte == 0x0A)]

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return the bytes of a node, without the space and the comments around it."""
        span = self._spans[node]
        return span.start, span.start + span.length

    def text(self, node: cst.CSTNode) -> str:
        """Return a node as it is written."""
        start, end = self.span(node)
        return self.data[start:end].decode()

    def lines(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return the first and the last line of a node."""
        start, end = self.span(node)
        return self.line(start), self.line(max(start, end - 1))

    def line(self, offset: int) -> int:
        """Return the line of a byte."""
        return bisect_right(self._starts, offset)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node that holds another one."""
        return self._parents.get(node)

    def replace(self, node: cst.CSTNode, text: str) -> Edit:
        """Return other text in place of a node."""
        return Edit(*self.span(node), text.encode())

    def token(self, node: cst.CSTNode, old: str, new: str) -> Edit:
        """Return another token in place of the one that a node begins with."""
        return self.replace(node, self.text(node).replace(old, new, 1))

    def exchanged(
        self, node: cst.CSTNode, tokens: Mapping[type[cst.CSTNode], tuple[str, str]]
    ) -> Iterator[Edit]:
        """Yield the other token for a node whose kind a table has: what it begins with, and what instead."""
        if type(node) in tokens:
            yield self.token(node, *tokens[type(node)])

    def swap(self, first: cst.CSTNode, second: cst.CSTNode) -> Edit:
        """Return two nodes in each other's place, with what stands between them."""
        (a, b), (c, d) = self.span(first), self.span(second)
        return Edit(a, d, self.data[c:d] + self.data[b:c] + self.data[a:b])
