"""A small model and what its slots report."""

from functools import partial

import pytest
import torch

from esper.kasmina import GateConfig, MorphogeneticModel
from tests.esper.kasmina.helpers import Log, ModelFactory, new_model


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def make_model(log: Log) -> ModelFactory:
    return partial(new_model, log)


@pytest.fixture
def model(make_model: ModelFactory) -> MorphogeneticModel:
    return make_model()


@pytest.fixture
def strict_model(make_model: ModelFactory) -> MorphogeneticModel:
    return make_model(gates=GateConfig(strict=True))


@pytest.fixture
def images() -> torch.Tensor:
    return torch.randn(16, 3, 32, 32, generator=torch.Generator().manual_seed(9))
