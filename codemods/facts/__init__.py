"""What is there: scopes, names, captures, flow, imports, seams. No fact depends on what is to be done.

For programs of others: `captures_of`, `seams_of` and `liveness_of`, with what they return.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemods.facts.api import Capture as Capture
    from codemods.facts.api import Captures as Captures
    from codemods.facts.api import Moment as Moment
    from codemods.facts.api import NotFollowed as NotFollowed
    from codemods.facts.api import captures_of as captures_of
    from codemods.facts.api import liveness_of as liveness_of
    from codemods.facts.api import seams_of as seams_of
    from codemods.facts.origins import absolute as absolute
    from codemods.facts.readers import SeamReaders as SeamReaders
    from codemods.facts.readers import reads_own as reads_own
    from codemods.facts.readers import seam_readers as seam_readers
    from codemods.facts.repository import mentioning as mentioning
    from codemods.facts.repository import module_name as module_name
    from codemods.facts.repository import package_of as package_of
    from codemods.facts.repository import python_files as python_files
    from codemods.facts.repository import shown_path as shown_path
    from codemods.facts.source import SourceError as SourceError
    from codemods.facts.source import read_source as read_source

_HOMES = {
    **dict.fromkeys(
        ["Capture", "Captures", "Moment", "NotFollowed", "captures_of", "liveness_of", "seams_of"], "api"
    ),
    "absolute": "origins",
    "mentioning": "repository",
    "module_name": "repository",
    "package_of": "repository",
    "python_files": "repository",
    "shown_path": "repository",
    "SeamReaders": "readers",
    "reads_own": "readers",
    "seam_readers": "readers",
    "SourceError": "source",
    "read_source": "source",
}


def __getattr__(name: str) -> object:
    """A public name, its module loaded when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
