"""What waits for a device: single calls, those inside loops, and the regions that fences mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods import public

if TYPE_CHECKING:
    from codemods.device.regions import Region as Region
    from codemods.device.regions import RegionChange as RegionChange
    from codemods.device.regions import compare_regions as compare_regions
    from codemods.device.regions import regions_of as regions_of

__getattr__ = public(__name__, regions="Region RegionChange compare_regions regions_of")
