"""What several tests of the gate begin with."""

from pathlib import Path

import pytest

from tests.ci.stranger import make


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small repository of `tests.ci.stranger`, made once; tests that change it copy it."""
    return make(tmp_path_factory.mktemp("stranger"))
