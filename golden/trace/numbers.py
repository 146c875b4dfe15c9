"""Numbers written exactly, and distances between them in ulps."""

from __future__ import annotations

import math
import struct

_WIDTH = {"float64": ("<d", "<q"), "float32": ("<f", "<i"), "float16": ("<e", "<h")}


def exact(raw: bytes, dtype: str) -> str:
    """Return one number from its little-endian bytes: a hex float, or the bits of a NaN.

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
    """Return an exact number for people: decimal where it is one, else as it stands."""
    try:
        return repr(float.fromhex(number))
    except ValueError:
        return number


def hex_ulps(left: str, right: str) -> int | None:
    """`ulps` of two exact numbers; None if either is none."""
    try:
        return ulps(float.fromhex(left), float.fromhex(right))
    except ValueError:
        return None


def ulps(left: float, right: float) -> int | None:
    """Count the representable numbers between two; None if either is not finite.

    Counted in float32 where both are exact float32 numbers, as values read from tensors are; else in float64.
    """
    if not (math.isfinite(left) and math.isfinite(right)):
        return None
    single = _is_single(left) and _is_single(right)
    return abs(_ordinal(left, single) - _ordinal(right, single))


# From here on a number of ulps says less than a share.
_FAR = 0.03


def far_apart(left: float, right: float) -> str:
    """Return the change as a share of the left number ("+12%") if they are far apart; else empty."""
    change = right - left
    if left == 0 or not math.isfinite(change) or abs(change) < _FAR * abs(left):
        return ""
    share = change / abs(left)
    return f"{100 * share:+.3g}%" if abs(share) < 10 else f"{right / left:.3g} times"


def apart_text(left: float, right: float, ulps: int | None) -> str:
    """Say how far two numbers are apart: in ulps if near, as a share if far."""
    share = far_apart(left, right)
    if share or ulps is None or left == 0 or right == 0:
        return share
    return f"{ulps:,} ulp{'' if ulps == 1 else 's'}"


def _is_single(value: float) -> bool:
    try:
        return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value)
    except OverflowError:
        return False


def _ordinal(value: float, single: bool) -> int:
    bits: int = struct.unpack("<i" if single else "<q", struct.pack("<f" if single else "<d", value))[0]
    magnitude = 0x7FFF_FFFF if single else 0x7FFF_FFFF_FFFF_FFFF
    # Negative floats count downwards from minus zero, which lies one place below plus zero.
    return bits if bits >= 0 else -(bits & magnitude) - 1
