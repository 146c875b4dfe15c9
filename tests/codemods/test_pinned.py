"""What the tool writes for every case, and in every mode, is what was approved."""

from __future__ import annotations

import sys

import pytest

from tests.codemods.pinned import approved, cases, digest

pytestmark = pytest.mark.slow


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="texts are approved on Python 3.11")
def test_texts_are_those_that_were_approved() -> None:
    wanted = approved()
    found = {key: digest(text) for key, text in cases()}
    changed = sorted(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key))
    assert not changed, (
        "for a diff run `python -m tests.codemods.pinned keep FOLDER` in a checkout from before and "
        "`... diff FOLDER` here; if what changed is right, `... approve`"
    )
