"""Comments: ``# hotpath: allow[HP001] reason``, ``# hotpath: loop``, ``# hotpath: cold``."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from codemods.hotpath.codes import CODES
from codemods.hotpath.results import Allowed, Finding, Place

_MARK = "hotpath:"
_COMMENT = re.compile(r"#\s*hotpath:\s*(?P<rest>.*)$")
_MARKS = ("loop", "cold")
_ALLOW = re.compile(r"allow\s*\[(?P<codes>[^\]]*)\]\s*:?\s*(?P<reason>.*)$")


@dataclass(frozen=True, slots=True)
class Pragma:
    """A comment; on a line of its own it speaks for the next line of code, else for its own."""

    place: Place
    target: int
    codes: tuple[str, ...]
    reason: str
    text: str
    problem: str | None
    mark: str | None = None


def find_pragmas(path: str, text: str) -> list[Pragma]:
    """The comments of a file."""
    if _MARK not in text:
        return []
    found = []
    lines = text.splitlines()
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    for token in tokens:
        match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
        if match is not None:
            line, column = token.start
            column += match.start()
            alone = not lines[line - 1][: token.start[1]].strip()
            target = _next_code(lines, line) if alone else line
            place = Place(path, line, column + 1, line, token.end[1] + 1)
            found.append(_parse(place, target, match["rest"].strip(), match[0].strip()))
    return found


def _next_code(lines: list[str], line: int) -> int:
    for number in range(line + 1, len(lines) + 1):
        stripped = lines[number - 1].strip()
        if stripped and not stripped.startswith("#"):
            return number
    return line


def _parse(place: Place, target: int, rest: str, text: str) -> Pragma:
    match = _ALLOW.match(rest)
    codes: tuple[str, ...] = ()
    reason = ""
    problem = None
    word = rest.replace(":", " ").split()[0] if rest.strip(": ") else ""
    if word in _MARKS:
        return Pragma(place, target, (), rest, text, None, word)
    if match is None:
        problem = "can't be read"
    else:
        codes = tuple(code.strip() for code in match["codes"].split(",") if code.strip())
        reason = match["reason"].split("#")[0].strip()
        unknown = [code for code in codes if code not in CODES]
        if not codes or unknown:
            problem = f"no such code {unknown[0]}" if unknown else "names no code"
        elif not reason:
            problem = "gives no reason"
    return Pragma(place, target, codes, reason, text, problem)


def marks(pragmas: Iterable[Pragma]) -> dict[str, dict[int, str]]:
    """By path and line: which loops and functions are hot or cold by a comment."""
    found: dict[str, dict[int, str]] = {}
    for pragma in pragmas:
        if pragma.mark is not None:
            found.setdefault(pragma.place.path, {})[pragma.target] = pragma.mark
    return found


def apply_pragmas(
    findings: Iterable[Finding], pragmas: Iterable[Pragma], marked: Set[tuple[str, int]] = frozenset()
) -> tuple[list[Finding], list[Allowed]]:
    """Findings that stay, with what is wrong about comments added; and those that a comment allows.

    A comment speaks for what stalls on its line, and for what is called from there: it may stand at the
    stall, at a call on the way to it, or at the head of the loop. ``marked``: lines of loops and functions
    where a comment was heeded.
    """
    by_line: dict[tuple[str, int], list[Pragma]] = {}
    pragmas = list(pragmas)
    for pragma in pragmas:
        if pragma.problem is None and pragma.mark is None:
            by_line.setdefault((pragma.place.path, pragma.target), []).append(pragma)
    used: set[Pragma] = set()
    kept: list[Finding] = []
    allowed: list[Allowed] = []
    for finding in findings:
        covering = [
            pragma
            for path, line in _lines(finding)
            for pragma in by_line.get((path, line), ())
            if finding.code in pragma.codes
        ]
        used.update(covering)
        if covering:
            allowed.append(Allowed(finding, covering[0].reason))
        else:
            kept.append(finding)
    for pragma in pragmas:
        if pragma.mark is not None:
            if (pragma.place.path, pragma.target) not in marked:
                kept.append(Finding("HP900", pragma.text, pragma.place, "", None))
        elif pragma.problem is not None:
            kept.append(Finding("HP901", pragma.text, pragma.place, "", None))
        elif pragma not in used:
            kept.append(Finding("HP900", pragma.text, pragma.place, "", None))
    return kept, allowed


def _lines(finding: Finding) -> Iterator[tuple[str, int]]:
    """Lines at which a comment speaks for a finding."""
    places = [finding.place, *(step.place for step in reversed(finding.steps))]
    for place in places:
        yield from ((place.path, line) for line in range(place.line, place.end_line + 1))
    if finding.loop is not None:
        yield finding.loop.place.path, finding.loop.place.line


def with_pragma(line: str, codes: Iterable[str], reason: str) -> str:
    """A line of code with a comment that allows some codes."""
    body = line.rstrip("\r\n")
    return f"{body.rstrip()}  # hotpath: allow[{', '.join(sorted(set(codes)))}] {reason}{line[len(body) :]}"
