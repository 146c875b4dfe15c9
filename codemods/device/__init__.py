"""What waits for a device: single calls, those inside loops, and the regions that fences mark."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemods.device.regions import Region as Region
    from codemods.device.regions import RegionChange as RegionChange
    from codemods.device.regions import compare_regions as compare_regions
    from codemods.device.regions import regions_of as regions_of

_HOMES = {
    "Region": "regions",
    "RegionChange": "regions",
    "compare_regions": "regions",
    "regions_of": "regions",
}


def __getattr__(name: str) -> object:
    """A public name, its module loaded when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
