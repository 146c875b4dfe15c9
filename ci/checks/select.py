"""Which checks a configuration asks for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ci.checks.changes import changes
from ci.checks.check import Check, Context
from ci.checks.contracts import contracts
from ci.checks.evidence import evidence
from ci.checks.hotpath import hotpath
from ci.checks.imports import isolation
from ci.checks.plans import carried_out, plan
from ci.checks.power import power
from ci.checks.runs import counts, golden
from ci.checks.seams import seams
from ci.checks.syncs import syncs
from ci.checks.tests import tests
from ci.checks.throughput import throughput


def checks(context: Context) -> list[Check]:
    """Return the checks of the configuration; those that need a base only if there is one."""
    return list(_checks(context))


def needing_base(context: Context) -> list[str]:
    """The checks that are left out because there is no base."""
    if context.base is not None:
        return []
    config = context.config
    left = [f"throughput {config.throughput.run}"] if config.throughput else []
    needy = [("evidence", config.evidence), ("power", config.power)]
    return [*(name for name, wanted in needy if wanted), *(f"syncs {name}" for name in config.syncs), *left]


def _checks(context: Context) -> Iterator[Check]:
    config = context.config
    if context.base:
        yield Check("gate changes", partial(changes, context, context.base), runs="in turn")
    if config.contracts:
        yield Check("import contracts", partial(contracts, context))
    for isolated in config.imports:
        yield Check(f"imports of {isolated.module}", partial(isolation, context, isolated))
    for pattern in config.plans:
        for path in sorted(context.root.glob(pattern)) or [context.root / pattern]:
            yield Check(f"plan {path.stem}", partial(plan, context, path), runs="in turn")
    for pattern in config.carried_out:
        for path in sorted(context.root.glob(pattern)) or [context.root / pattern]:
            yield Check(f"plan {path.stem}", partial(carried_out, context, path), runs="in turn")
    for seam in config.seams:
        yield Check(f"seams of {seam.file}", partial(seams, context, seam), runs="in turn")
    if config.hotpath:
        yield Check("hot path", partial(hotpath, context, config.hotpath), runs="in turn")
    if config.evidence and context.base:
        yield Check("evidence", partial(evidence, context, config.evidence, context.base), runs="in turn")
    for name in config.counts:
        yield Check(f"counts {name}", partial(counts, context, name))
    for name in config.runs:
        yield Check(f"golden {name}", partial(golden, context, name))
    for name in config.syncs if context.base else ():
        yield Check(f"syncs {name}", partial(syncs, context, name))
    if config.tests:
        yield Check("tests", partial(tests, context, config.tests))
    if config.power and context.base:
        yield Check("power", partial(power, context, config.power, context.base), runs="alone")
    if config.throughput and context.base:
        yield Check(
            f"throughput {config.throughput.run}",
            partial(throughput, context, config.throughput),
            runs="alone",
        )
