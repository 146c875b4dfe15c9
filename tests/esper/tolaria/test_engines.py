"""Engines by name: our own, and others by entry point."""

from importlib.metadata import EntryPoint

import pytest

from esper.leyline.errors import InputError
from esper.tolaria import engines
from esper.tolaria.engine import VectorizedEngine
from esper.tolaria.plain_engine import PlainEngine


def register(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Make entry points of the engines' group out of `name="module:attribute"`."""
    found = [EntryPoint(name, value, engines.GROUP) for name, value in values.items()]
    monkeypatch.setattr(engines, "entry_points", lambda *, group: found if group == "esper.engines" else [])


def test_engines_of_our_own_and_of_other_packages_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, mine="esper.tolaria.plain_engine:PlainEngine", plain="somewhere:Else")
    assert engines.find_engine("vectorized") is VectorizedEngine
    assert engines.find_engine("plain") is engines.find_engine("mine") is PlainEngine


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("spark", "--engine spark: no such engine; known are vectorized, plain"),
        ("bad", r"--engine bad: cannot be loaded \(ModuleNotFoundError: "),
    ],
)
def test_an_engine_that_is_not_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    register(monkeypatch, bad="no_such_module_anywhere:Engine")
    with pytest.raises(InputError, match=f"^{message}"):
        engines.find_engine(name)
