"""How facts of the report read in a sentence, alike in every rendering."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from codemods.audit.import_graph import LazyImport
from codemods.audit.report import (
    Capture,
    DefinitionReport,
    FunctionReport,
    Global,
    HelperReport,
    Lifted,
    Parameter,
    Refused,
    Report,
)
from codemods.device.regions import Region, StepKind


def count(number: int, noun: str) -> str:
    """``1 helper``, ``2 helpers``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def numbers(lines: Iterable[int]) -> str:
    """Line numbers in a row."""
    return ", ".join(str(line) for line in lines)


def at_lines(lines: Sequence[int]) -> str:
    """``line 3`` or ``lines 3, 5``."""
    return f"line{'' if len(lines) == 1 else 's'} {numbers(lines)}"


def signature(inputs: Sequence[Parameter]) -> str:
    """Parameters as a signature spells them."""
    parts = []
    starred = any(parameter.kind == "*args" for parameter in inputs)
    for index, parameter in enumerate(inputs):
        if parameter.kind == "keyword-only" and not starred:
            parts.append("*")
            starred = True
        text = {"*args": "*", "**kwargs": "**"}.get(parameter.kind, "") + parameter.name
        if parameter.annotation is not None:
            text += f": {parameter.annotation}"
        if parameter.default is not None:
            text += f" = {parameter.default}" if parameter.annotation is not None else f"={parameter.default}"
        parts.append(text)
        following = inputs[index + 1].kind if index + 1 < len(inputs) else None
        if parameter.kind == "positional-only" and following != "positional-only":
            parts.append("/")
    return f"({', '.join(parts)})"


def definition(helper: HelperReport) -> str:
    """A helper's signature with its result."""
    prefix = "async def " if helper.kind in ("coroutine", "async generator") else "def "
    returns = "" if helper.returns is None else f" -> {helper.returns}"
    return f"{prefix}{helper.name}{signature(helper.inputs)}{returns}"


def short_name(qualname: str, function: FunctionReport) -> str:
    """A qualified name as seen from inside the function."""
    return qualname.removeprefix(function.qualname + ".")


def context(helper: HelperReport) -> str:
    """What is proposed for a helper that is passed many names."""
    passed = len(helper.moved.passed) if isinstance(helper.moved, Lifted) else 0
    return (
        f'it would be passed {count(passed, "name")}: `captures = "context"` in its `[[move]]` '
        "(or `--captures context`) collects its captures in one object"
    )


def state(function: FunctionReport) -> list[str]:
    """The `[loop.state]` that is proposed for a function, ready for a plan."""
    groups = function.loop.groups if function.loop is not None else ()
    lines = ["[loop.state]"] if groups else []
    for group in groups:
        line = f"{group.name} = [{', '.join(json.dumps(name) for name in group.names)}]"
        if len(line) > 100:
            line = f"{group.name} = [\n" + "".join(f"    {json.dumps(name)},\n" for name in group.names) + "]"
        lines += line.split("\n")
    return lines


def loop(function: FunctionReport) -> str:
    """How many fields the class of a function's loop would have."""
    assert function.loop is not None
    fields, grouped = len(function.loop.fields), sum(len(group.names) for group in function.loop.groups)
    text = f"the loop in line {function.loop.line} needs {count(fields, 'variable')} of the function"
    if not grouped:
        return text
    left = fields - grouped + len(function.loop.groups)
    return f"{text}; in groups of names that are used together, its class has {count(left, 'field')} for them"


def where(qualname: str, function: FunctionReport) -> str:
    """The function that something stands in, as seen from the outer one."""
    return "the function itself" if qualname == function.qualname else short_name(qualname, function)


def binding(capture: Capture, function: FunctionReport) -> str:
    """How a capture gets its value."""
    kind = {"import": f"imported inside: {capture.origin}", "helper": "another helper"}.get(
        capture.bound_as, capture.bound_as
    )
    owner = "" if capture.owner == function.qualname else f" of {short_name(capture.owner, function)}"
    return f"{kind}{owner}, {at_lines(capture.bound)}" if capture.bound else f"{kind}{owner}"


def bound_at_uses(capture: Capture, helper: HelperReport) -> str:
    """Whether a capture has a value whenever the helper may run."""
    if capture.unbound_at:
        return f"maybe not, {at_lines(capture.unbound_at)}"
    return "yes" if helper.calls or helper.values else "no use"


def origin(name: Global) -> str:
    """Where a global comes from."""
    return {
        "import": name.origin,
        "typing": f"{name.origin}, for type checkers only",
        "own": f"this file, {name.origin}",
        "identity": "differs from module to module",
        "star": "a star import, perhaps",
        "builtin": "builtin",
        "unknown": "unknown",
    }[name.kind]


def verdict(answer: Lifted | Refused) -> str:
    """One word and a code."""
    return "lift" if isinstance(answer, Lifted) else f"refused: {answer.code}"


def span(row: DefinitionReport) -> str:
    """Its lines."""
    return str(row.line) if row.line == row.end_line else f"{row.line}-{row.end_line}"


def move(row: DefinitionReport) -> str:
    """Whether a plan could move it, in a word or a code."""
    if row.moved is None:
        return "stays, as what is run"
    return f"refused: {row.moved.code}" if isinstance(row.moved, Refused) else "move"


def plan(report: Report) -> str:
    """What a plan is, and what to do with it."""
    tried = "carried out in memory" if report.searched is not None else "not tried yet"
    where = " --root ." if report.searched is not None else ""
    command = f"codemods extract --plan plan.toml{where}"
    return f"a plan ({tried}); save it as plan.toml and see what it does with: {command}"


def why_lazy(lazy: LazyImport) -> str:
    """What speaks against importing a name at the top of the file."""
    if lazy.cycle is None:
        return "cycles not searched"
    if lazy.cycle:
        return "at the top it would close the cycle " + " -> ".join(lazy.cycle)
    if lazy.deferred:
        return "no cycle; deferred until the call"
    return "no cycle; importing the file imports it anyway"


def moved(helper: HelperReport) -> str:
    """What a lift into another file does beyond one within the file."""
    if isinstance(helper.moved, Refused):
        if helper.moved == helper.strategy:
            return "refused for the same reason"
        return f"refused: {helper.moved.code}, line {helper.moved.line}: {helper.moved.reason}"
    if isinstance(helper.strategy, Refused):
        return "lift"
    more = [name for name in helper.moved.passed if name not in helper.strategy.passed]
    return f"lift; also passed: {', '.join(more)}" if more else "lift"


def searched(report: Report) -> str:
    """What was read besides the file."""
    parts = [] if report.searched is None else ["the repository"]
    if report.tests:
        parts.append("for seams, " + ", ".join(report.tests))
    return "; ".join(parts) or "this file alone"


def taken(report: Report) -> dict[str, list[str]]:
    """Names that other files take from the module, each with where."""
    found: dict[str, list[str]] = {}
    for item in report.taken or ():
        found.setdefault(item.name, []).append(f"{item.path}:{item.line}")
    return found


def statistics(report: Report) -> list[tuple[str, int]]:
    """Counts for ``--statistics``."""
    codes = Counter(refused.code for _, refused in report.refused)
    functions = report.functions
    rows = [
        ("functions", len(functions)),
        ("helpers", len(report.helpers)),
        ("helpers that can be lifted", len(report.helpers) - len(report.refused)),
        *((f"helpers refused: {code}", number) for code, number in sorted(codes.items())),
        ("captures", sum(len(helper.captures) for helper in report.helpers)),
        ("device syncs", sum(len(function.syncs) for function in functions)),
        ("lazy imports", sum(len(function.lazy_imports) for function in functions)),
    ]
    if report.searched is not None:
        rows.append(("files searched", report.searched))
        rows.append(("uses in the repository", sum(len(f.references or ()) for f in functions)))
    if report.other_seams is not None:
        seams = [*report.other_seams, *(seam for f in functions for seam in f.seams or ())]
        rows.append(("seams", len({seam.name for seam in seams})))
    return rows


def waits(region: Region) -> str:
    """How often a region waits, by kind."""
    kinds = Counter(step.kind for step in region.steps)
    nouns: dict[StepKind, str] = {
        "fence": "synchronisation",
        "batch": "batched transfer",
        "read": "single read",
    }
    return ", ".join(count(kinds[kind], noun) for kind, noun in nouns.items() if kinds[kind])
