"""Operations at which the host waits for a device, by name alone.

Question: which calls wait, in which loops, and in which order between fences?
Imports program only; audit, hotpath and the gate use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods import public

if TYPE_CHECKING:
    from codemods.device.regions import Region as Region
    from codemods.device.regions import RegionChange as RegionChange
    from codemods.device.regions import compare_regions as compare_regions
    from codemods.device.regions import regions_of as regions_of

__getattr__ = public(__name__, regions="Region RegionChange compare_regions regions_of")
