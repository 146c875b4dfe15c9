"""Which way each setting of the gate, of a run file and of the tools that the gate calls is stricter."""

from __future__ import annotations

from ci.policy.compare import Items, Table, at_least, at_most, free, keep, no_more, on, ordered, same

GATE = Table(
    {
        "contracts": on,
        "imports": Items(("module",), Table({"without": keep})),
        "plans": keep,
        "carried_out": keep,
        "seams": Items(("file",), Table({"tests": keep, "names": keep})),
        "hotpath": Table({"paths": keep, "baseline": same}),
        # A run of more lets more statements pass unread.
        "evidence": Table({"paths": keep, "accepted": same, "runs": no_more}),
        "power": Table(
            {"runs": same, "at_least": at_least, "paths": keep, "minutes": at_least, "mistakes": same}
        ),
        "fences": keep,
        "runs": keep,
        "counts": keep,
        "syncs": keep,
        "throughput": Table({"bound": at_most, "repeats": at_least}),
        "tests": Table({"timeout": free}),
    }
)

RUN = Table(
    {
        "description": free,
        "budget": free,
        "timeout": free,
        "deterministic": ordered("error", "warn", "off"),
        "events": Table({"unstable": no_more}),
        "observe": Table(
            {"steps": on, "syncs": on, "state_mib": at_least, "without": no_more, "unstable_values": no_more}
        ),
        "outputs": Table({"files": keep, "ignore": no_more, "unstable": no_more, "mask": no_more}),
        # They may come; once there, they say what is compared with what.
        "env": Table(),
        # Only what git does not keep and the base does not have can be shared.
        "data": Table({"paths": free}),
        "everywhere": Table({"events": on, "fields": keep}),
        "tolerance": Items(("of", "field"), Table({"ulps": at_most, "reason": free}), grows=False),
        "variants": Items(),
        "same": Items(of=Table({"says": free, "variants": keep, "what": keep})),
    }
)

# The keys of `codemods.hotpath.config.Config`.
HOTPATH = Table(
    {
        "loop_variables": keep,
        "iterables": keep,
        "annotations": keep,
        "select": keep,
        "exclude_iterables": no_more,
        "exclude": no_more,
        "ignore": no_more,
        "per_path_ignores": no_more,
        "follow_unknown": at_least,
    }
)

LINTER = Table(
    {
        "root_packages": keep,
        "contracts": Items(
            ("name",),
            Table({"ignore_imports": no_more, "source_modules": keep, "forbidden_modules": keep}),
        ),
    }
)

_PYTEST = {"markers": free, "timeout": free, "minversion": free, "cache_dir": free}
_OPTIONS = Table({"ini_options": Table(_PYTEST, optional=True), **_PYTEST}, optional=True)

# Settings of the tests by table or section; which keys loosen is for no list to say.
PYTEST = Table({"pytest": _OPTIONS, "tool:pytest": _OPTIONS, **_PYTEST}, optional=True)
