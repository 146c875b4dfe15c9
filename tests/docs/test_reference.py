"""The reference pages are what the code says."""

import pytest

from ci.reference.__main__ import FOLDER
from ci.reference.pages import PAGES


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_current(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name](), "run: python -m ci.reference"
