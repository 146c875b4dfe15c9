"""The analysed program as text: files, scopes, names, captures, control flow, effects of statements, seams.

Question: what is there, what does a name mean, what may a statement do? Never what is to be done about it.
Imports no other room: every layer may ask. For programs of others: `seams_of`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods import public

if TYPE_CHECKING:
    from codemods.program.origins import absolute as absolute
    from codemods.program.patches import SeamReaders as SeamReaders
    from codemods.program.patches import reads_own as reads_own
    from codemods.program.patches import seams_of as seams_of
    from codemods.program.repository import mentioning as mentioning
    from codemods.program.repository import module_name as module_name
    from codemods.program.repository import package_of as package_of
    from codemods.program.repository import python_files as python_files
    from codemods.program.repository import read_tools as read_tools
    from codemods.program.repository import shown_path as shown_path
    from codemods.program.source import SourceError as SourceError
    from codemods.program.source import read_source as read_source

__getattr__ = public(
    __name__,
    origins="absolute",
    repository="mentioning module_name package_of python_files read_tools shown_path",
    patches="SeamReaders reads_own seams_of",
    source="SourceError read_source",
)
