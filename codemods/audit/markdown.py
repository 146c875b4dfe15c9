"""The report as a Markdown document, for a reviewer who has never seen the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from codemods.audit import wording
from codemods.audit.report import FunctionReport, HelperReport, Refused, Report, SeamReport

_WORDS = """\
A *helper* is a function defined inside another function. A *capture* is a variable of an enclosing function
that a helper reads. To *lift* a helper is to make it a module-level function whose captures are keyword-only
parameters; a helper is *refused* where that could change what the program does. A *seam* is a name that tests
replace. A *fence* is a call after which the device has done everything that was queued before."""


def render_markdown(report: Report) -> str:
    """The whole document; the same report always gives the same text."""
    blocks: list[str] = [
        f"# Preflight report: `{report.path}`",
        f"Made by `{_command(report)}`; run it again instead of editing this file.",
        _WORDS,
        _overview(report),
    ]
    for function in report.functions:
        blocks += _function(function)
    blocks += _definitions(report)
    return "\n\n".join([*blocks, *_module(report)]) + "\n"


def _definitions(report: Report) -> Iterator[str]:
    """What of the module itself a plan could move, and a plan."""
    if report.definitions is None:
        return
    header = ("definition", "kind", "lines", "reads of the module", "a plan", "why, and the way out")
    rows = [
        (
            code(row.name),
            row.kind,
            wording.span(row),
            ", ".join(map(code, row.needs)),
            wording.move(row),
            f"line {row.moved.line}: {row.moved.reason}; {row.moved.way_out}"
            if isinstance(row.moved, Refused)
            else "",
        )
        for row in report.definitions
    ]
    yield from _headed("## What a plan could move", header, rows)
    if report.plan is None:
        yield f"No plan: {report.no_plan}."
    else:
        text = wording.plan(report)
        yield f"{text[:1].upper()}{text[1:]}"
        yield f"```toml\n{report.plan}```"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table as a block; none without rows."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    lines = [list(header), ["---"] * len(header), *cells]
    return ["\n".join(f"| {' | '.join(row)} |" for row in lines)] if cells else []


def _headed(
    heading: str, header: Sequence[str], rows: Sequence[Sequence[str]] | None, nothing: str = "None."
) -> Iterator[str]:
    """A table under its heading; what stands there instead without rows, or where none were looked for."""
    yield heading
    if not rows:
        yield nothing if rows is not None else "Not searched."
    yield from table(header, rows or ())


def code(text: str) -> str:
    """Text in backticks, more of them where it has some itself."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _names(names: Iterable[str]) -> str:
    return ", ".join(code(name) for name in names) or "nothing"


def _command(report: Report) -> str:
    parts = ["python -m codemods.audit", report.path]
    if len(report.functions) == 1:
        parts.append(f"--function {report.functions[0].qualname}")
    if report.searched is not None:
        parts.append("--root .")
    parts += [f"--tests {folder}" for folder in report.tests]
    return " ".join([*parts, "--output-format markdown"])


def _overview(report: Report) -> str:
    functions = wording.count(len(report.functions), "function")
    helpers = wording.count(len(report.helpers), "helper")
    liftable = len(report.helpers) - len(report.refused)
    return (
        f"{wording.count(report.lines, 'line')} in the file; {functions} with {helpers}, "
        f"{liftable} of which can be lifted within the file. "
        f"Read: {wording.searched(report)}."
    )


def _function(function: FunctionReport) -> Iterator[str]:
    yield f"## `{function.qualname}`"
    yield _signature("def " + function.name + wording.signature(function.inputs), function.decorators)
    yield (
        f"Lines {function.line}-{function.end_line}: {wording.count(function.lines, 'line')}, "
        f"{function.own_lines} of them outside its helpers."
    )
    counts = ("captures", "rebound", "changes", "calls", "as a value")
    header = ("helper", "lines", *counts, "within the file", "to another")
    yield from table(header, [_row(helper, function) for helper in function.helpers])
    yield from _references(function)
    yield from _seams("### Seams", function.seams)
    yield from _lazy_imports(function)
    yield from _loop(function)
    yield from _syncs(function)
    for helper in function.helpers:
        yield from _helper(helper, function)


def _signature(text: str, decorators: Sequence[str]) -> str:
    return "\n".join(["```python", *(f"@{decorator}" for decorator in decorators), text, "```"])


def _row(helper: HelperReport, function: FunctionReport) -> tuple[str, ...]:
    return (
        code(wording.short_name(helper.qualname, function)),
        f"{helper.line}-{helper.end_line}",
        str(len(helper.captures)),
        str(sum(bool(capture.rebound) for capture in helper.captures)),
        str(len({mutation.target for mutation in helper.mutates})),
        str(len(helper.calls)),
        str(len(helper.values)),
        wording.verdict(helper.strategy),
        wording.verdict(helper.moved),
    )


def _helper(helper: HelperReport, function: FunctionReport) -> Iterator[str]:
    yield f"### `{wording.short_name(helper.qualname, function)}`"
    yield _signature(wording.definition(helper), helper.decorators)
    yield f"Lines {helper.line}-{helper.end_line} ({wording.count(helper.lines, 'line')}), a {helper.kind}."
    yield "\n".join(_verdicts(helper))
    yield from table(
        ("capture", "how it is bound", "type", "rebound", "bound at every use", "read in lines"),
        [
            (
                code(capture.name),
                wording.binding(capture, function),
                "" if capture.annotation is None else code(capture.annotation),
                wording.at_lines(capture.rebound) if capture.rebound else "never",
                wording.bound_at_uses(capture, helper),
                wording.numbers(capture.reads),
            )
            for capture in helper.captures
        ],
    )
    yield from table(
        ("changes", "how", "of", "line"),
        [(code(m.target), m.via, f"a {m.of}", str(m.line)) for m in helper.mutates],
    )
    yield from table(
        ("global", "where it comes from"),
        [(code(name.name), wording.origin(name)) for name in helper.globals if name.kind != "builtin"],
    )
    builtins = [name.name for name in helper.globals if name.kind == "builtin"]
    if builtins:
        yield f"Builtins: {_names(builtins)}."
    places = [("called", place) for place in helper.calls] + [("used as a value", v) for v in helper.values]
    if not places:
        yield "It is used nowhere."
    yield from table(
        ("use", "in", "line"),
        [(kind, wording.where(place.function, function), str(place.line)) for kind, place in places],
    )


def _verdicts(helper: HelperReport) -> Iterator[str]:
    if isinstance(helper.strategy, Refused):
        refused = helper.strategy
        yield f"**Refused** ({code(refused.code)}, line {refused.line}): {refused.reason}."
        yield f"Way out: {refused.way_out}."
    else:
        yield f"**Lift**, passing {_names(helper.strategy.passed)}."
    yield f"Into another file: {wording.moved(helper)}."
    if helper.context:
        yield f"Proposed: {wording.context(helper)}."


def _references(function: FunctionReport) -> Iterator[str]:
    rows = None
    if function.references is not None:
        rows = [
            (code(use.path), str(use.line), code(use.function) if use.function else "the module", use.kind)
            for use in function.references
        ]
    yield from _headed("### Uses in the repository", ("file", "line", "in", "use"), rows)


def _seams(heading: str, seams: Sequence[SeamReport] | None) -> Iterator[str]:
    rows = None
    if seams is not None:
        rows = [
            (
                code(seam.name) if index == 0 else "",
                ("the module's own name" if seam.rebinds else "an attribute") if index == 0 else "",
                (_names(seam.read_by) if seam.read_by else "nothing in this file") if index == 0 else "",
                code(place.test) if place.test else "the module",
                f"{place.path}:{place.line}",
                place.how,
            )
            for seam in seams
            for index, place in enumerate(seam.places)
        ]
    yield from _headed(heading, ("name", "replaced", "read by", "test", "at", "how"), rows)


def _lazy_imports(function: FunctionReport) -> Iterator[str]:
    rows = [
        (code(lazy.name), code(lazy.target), str(lazy.line), wording.why_lazy(lazy))
        for lazy in function.lazy_imports
    ]
    header = ("name", "from", "line", "why it is lazy")
    yield from _headed("### Imported inside the function", header, rows, "Nothing.")


def _loop(function: FunctionReport) -> Iterator[str]:
    if function.loop is None or not function.loop.groups:
        return
    yield "### The loop's state"
    yield f"For a plan, {wording.loop(function)}:"
    yield "\n".join(["```toml", *wording.state(function), "```"])


def _syncs(function: FunctionReport) -> Iterator[str]:
    yield "### Device syncs"
    yield "Calls that make the host wait for the device, by their names alone."
    yield from table(
        ("line", "call", "in", "innermost loop", "last fence before it"),
        [
            (
                str(sync.line),
                code(sync.text) + (" (a fence)" if sync.is_fence else ""),
                wording.where(sync.function, function),
                code(sync.loops[-1]) if sync.loops else "none",
                "none" if sync.fence is None else f"line {sync.fence}",
            )
            for sync in function.syncs
        ],
    )
    yield "### Fenced regions"
    yield "The order in which each loop waits; a refactoring must keep it."
    yield from table(
        ("loop", "in", "waits", "order"),
        [
            (
                code(region.loop) if region.loop else "none",
                wording.where(region.function, function),
                wording.waits(region),
                ", ".join(f"{step.kind} (line {step.line})" for step in region.steps),
            )
            for region in function.regions
        ],
    )


def _module(report: Report) -> Iterator[str]:
    yield "## The module"
    yield from _seams("### Seams that the functions above don't read", report.other_seams)
    yield "### What importing it imports"
    if report.pulled is None:
        yield "Not searched."
    else:
        yield (
            f"{wording.count(len(report.pulled.modules), 'module')} of the repository, and "
            f"{wording.count(len(report.pulled.heavy), 'distribution')} whose import takes long."
        )
        yield from table(
            ("heavy import", "by way of"),
            [(code(chain[-1]), " → ".join(chain[:-1])) for chain in report.pulled.heavy],
        )
        if report.pulled.third_party:
            yield f"Further distributions: {_names(report.pulled.third_party)}."
    for path in report.unread or ():
        yield f"Not read, because it is not valid Python: {code(path)}."
    rows = None
    if report.taken is not None:
        rows = [(code(name), ", ".join(found)) for name, found in wording.taken(report).items()]
    yield from _headed("### Names that other files take from it", ("name", "taken in"), rows)
