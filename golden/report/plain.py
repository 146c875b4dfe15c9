"""Text from traces, made harmless to read."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 400
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def visible(text: str, longest: int = LONGEST) -> str:
    """Text in one line: control, bidirectional and broken characters spelled out, the end cut off if long."""
    clipped = text[:longest]
    shown = "".join(_spelled(c) if unicodedata.category(c) in _HIDDEN else c for c in clipped)
    return shown if len(text) <= longest else f"{shown} … ({len(text) - longest:,} more characters)"


def _spelled(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def code(text: str) -> str:
    """Text as inline Markdown code that also stands in a table's cell."""
    body = visible(text).replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", body)), default=0))
    space = " " if "`" in body else ""
    return f"{fence}{space}{body}{space}{fence}"
