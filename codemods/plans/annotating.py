"""The annotations that captures get in the files that are made."""

from __future__ import annotations

from pathlib import Path

from codemods.decide.annotate import Style
from codemods.decide.annotate.annotations import Annotations
from codemods.decide.annotate.project import Module, Project
from codemods.decide.annotate.stated import Stated
from codemods.facts.lifting import Analysis
from codemods.facts.loading import found_below
from codemods.facts.repository import dotted_name, import_base
from codemods.plans.modules import Layout
from codemods.plans.request import Request


def annotations_of(analysis: Analysis, request: Request) -> Annotations:
    """What is known of the captures of a file, with the project's other files as plans made them so far.

    None gets an annotation where the project checks annotations when it runs.
    """
    style = request.annotations
    if style != "none" and request.site.surroundings.checks_annotations:
        style = "none"
    return analysis.tree.once(f"annotations {style}", lambda: _made(analysis, request, style))


def _made(analysis: Analysis, request: Request, style: Style) -> Annotations:
    layout = request.layout
    names = tuple(dict.fromkeys(_name(layout, path) for path in (layout.rest, layout.source)))
    own = Module(names[0], layout.source_package or "", analysis.source.tree)
    project = Project(found_below(layout.folders, request.site.overlay.found), own, names[1:])
    return Annotations(analysis, Stated(project), style)


def _name(layout: Layout, path: Path) -> str:
    try:
        return layout.dotted(path)
    except ValueError:
        return dotted_name(path, import_base(path))
