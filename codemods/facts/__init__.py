"""What is there: scopes, names, captures, flow, imports, seams. No fact depends on what is to be done.

For programs of others: `captures_of`, `seams_of` and `liveness_of`, with what they return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods import public

if TYPE_CHECKING:
    from codemods.facts.api import Capture as Capture
    from codemods.facts.api import Captures as Captures
    from codemods.facts.api import Moment as Moment
    from codemods.facts.api import NotFollowed as NotFollowed
    from codemods.facts.api import captures_of as captures_of
    from codemods.facts.api import liveness_of as liveness_of
    from codemods.facts.origins import absolute as absolute
    from codemods.facts.project import read_tools as read_tools
    from codemods.facts.repository import mentioning as mentioning
    from codemods.facts.repository import module_name as module_name
    from codemods.facts.repository import package_of as package_of
    from codemods.facts.repository import python_files as python_files
    from codemods.facts.repository import shown_path as shown_path
    from codemods.facts.seams import SeamReaders as SeamReaders
    from codemods.facts.seams import reads_own as reads_own
    from codemods.facts.seams import seams_of as seams_of
    from codemods.facts.source import SourceError as SourceError
    from codemods.facts.source import read_source as read_source

__getattr__ = public(
    __name__,
    api="Capture Captures Moment NotFollowed captures_of liveness_of",
    origins="absolute",
    project="read_tools",
    repository="mentioning module_name package_of python_files shown_path",
    seams="SeamReaders reads_own seams_of",
    source="SourceError read_source",
)
