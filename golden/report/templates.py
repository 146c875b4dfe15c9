"""Page templates: whatever comes from a trace or a program is escaped and made visible."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from esper_harness.report.plain import visible


@lru_cache
def template(name: str, *packages: str) -> Template:
    """A template of the first of some packages that has it; so are those that it includes."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, ".") for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters["count"] = lambda number: f"{number:,}"
    return environment.get_template(name)


def _finalize(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
