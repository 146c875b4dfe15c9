"""Page templates: whatever comes from a trace or a program is escaped and made visible."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from esper_harness.report.plain import visible


@lru_cache
def template(name: str) -> Template:
    """Return a template of this package."""
    environment = Environment(
        loader=PackageLoader("golden.report", "."),
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
