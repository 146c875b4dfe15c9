"""The fixtures of tests/esper: these tests stand where the specification names them."""

from tests.esper.conftest import _own_cache, cache_home, make_cifar, published_cifar

__all__ = ["_own_cache", "cache_home", "make_cifar", "published_cifar"]
