"""Real programs: where the archives are not there, the tests skip and say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.real.corpus import CorpusError, Program, repositories, unpack


def _programs() -> dict[str, Program]:
    try:
        return {program.name: program for program in repositories()}
    except CorpusError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def programs() -> dict[str, Program]:
    """The repositories by name."""
    return _programs()


@pytest.fixture(scope="session")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository of the case study, unpacked."""
    program = next(program for program in _programs().values() if program.plan is not None)
    return unpack(program, tmp_path_factory.mktemp("studied"))
