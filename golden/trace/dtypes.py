"""Facts about a dtype from its name, without torch."""

from __future__ import annotations

import re


def element_size(dtype: str) -> int:
    """Return the bytes of an element, by the name that torch prints: "float32", "float8_e4m3fn", "bool"."""
    bits = re.search(r"\d+", dtype)
    # Of those with less than eight bits several share a byte, or each takes a whole one.
    return max(1, int(bits[0]) // 8) if bits else 1
