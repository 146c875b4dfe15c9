"""Numbers written exactly, and distances between them in ulps."""

from __future__ import annotations

import math
import struct

_WIDTH = {"float64": ("<d", "<q"), "float32": ("<f", "<i"), "float16": ("<e", "<h")}


def exact(raw: bytes, dtype: str) -> str:
    """One number from its little-endian bytes: a hex float, or the bits of a NaN.

    ``dtype`` is a torch name without the prefix (``float32``).
    """
    if dtype == "bfloat16":
        value = struct.unpack("<f", b"\0\0" + raw)[0]
    elif dtype in _WIDTH:
        value = struct.unpack(_WIDTH[dtype][0], raw)[0]
    else:
        return f"{dtype}:0x{raw[::-1].hex()}"
    if math.isnan(value):
        return f"nan:0x{raw[::-1].hex()}"
    return float(value).hex()


def readable(number: str) -> str:
    """An exact number for people: decimal where it is one, else as it stands."""
    try:
        return repr(float.fromhex(number))
    except ValueError:
        return number


def ulps(left: float, right: float) -> int | None:
    """How many representable float64 values lie between two numbers; None if either is not finite."""
    if not (math.isfinite(left) and math.isfinite(right)):
        return None
    return abs(_ordinal(left) - _ordinal(right))


def _ordinal(value: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    # Negative floats count downwards from minus zero, which lies one place below plus zero.
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF) - 1
