"""Where this process stands in the meshes of devices that its program makes."""

from __future__ import annotations

import functools
from typing import Any

import torch


class Meshes:
    """Keeps the coordinates in the mesh of most dimensions, the first of several."""

    def __init__(self) -> None:
        self._found: list[tuple[str, int]] = []

    def reset(self) -> None:
        """Forget what was seen, as a forked process must."""
        self._found = []

    def install(self) -> None:
        """Look at every `DeviceMesh` from now on; nothing where torch has none."""
        if not torch.distributed.is_available():
            return
        from torch.distributed.device_mesh import DeviceMesh

        kind: Any = DeviceMesh
        original = kind.__init__

        @functools.wraps(original)
        def made(mesh: Any, /, *args: Any, **kwargs: Any) -> None:
            original(mesh, *args, **kwargs)
            try:
                self._note(mesh)
            except Exception:
                # A mesh of another kind than those known is only not named.
                return

        kind.__init__ = made

    def _note(self, mesh: Any) -> None:
        place = mesh.get_coordinate()
        # In a single dimension the place is the rank.
        if place is None or len(place) < 2 or (self._found and len(self._found) >= len(place)):
            return
        names = mesh.mesh_dim_names or [f"dimension {number}" for number in range(len(place))]
        self._found = list(zip(map(str, names), map(int, place), strict=True))

    def place(self) -> str:
        """The coordinates, as ``dp 1, tp 0``; empty without such a mesh."""
        return ", ".join(f"{name} {number}" for name, number in self._found)
