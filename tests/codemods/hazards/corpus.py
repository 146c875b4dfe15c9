"""The hazard corpus: programs whose helpers are dangerous to lift, and what a sound tool does with them.

The cases are Markdown, one file per kind of hazard, so that they read as a catalogue. A case is a heading of
the second level, `id: title`, then some prose, a list of settings, and fenced programs:

    - expect: HELPER VERDICT [CODE...]   what becomes of a helper; `*` means every helper (may be repeated)
    - extract: FILE [OPTION...]          the tool's arguments; `main.py` if left out
    - python: 3.12                       the first Python that can run it

    ```python orig [PATH]                a file of the program before; PATH is main.py if left out
    ```python naive [PATH]               a lift that goes wrong: it shows what the case can detect
    ```python sound [PATH]               a rewrite that would be right, for the reader
    ```toml orig [PATH]                  a plan

`main.py` is what is run. Verdicts: `sound` (done, and the program prints the same), `refused` (with one of
the XX
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

CASES = Path(__file__).with_name("cases")

Verdict = Literal["sound", "refused", "either", "documented", "declined"]
Variant = Literal["orig", "naive", "sound"]
Program = dict[str, str]
"""File name to text; `main.py` is the entry point."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must become of one helper; `codes` empty means that any refusal code will do."""

    helper: str
    verdict: Verdict
    codes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Case:
    """One hazard with its programs, keyed by variant."""

    id: str
    title: str
    advice: str
    expectations: tuple[Expectation, ...]
    arguments: tuple[str, ...]
    python: tuple[int, ...]
    programs: dict[Variant, Program]

    @property
    def hazard(self) -> str:
        """The hazard's number without the suffix that tells its cases apart."""
        return self.id.partition("-")[0]


class CorpusError(ValueError):
    """A case file is malformed."""


def load() -> tuple[Case, ...]:
    """Return every case, in the order of the files' names and headings."""
    cases = tuple(case for path in sorted(CASES.glob("*.md")) for case in _parse(path))
    ids = [case.id for case in cases]
    if repeated := {id_ for id_ in ids if ids.count(id_) > 1}:
        raise CorpusError(f"repeated case ids: {', '.join(sorted(repeated))}")
    return cases


def _parse(path: Path) -> list[Case]:
    blocks = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [_parse_case(block, path) for block in blocks]


def _parse_case(block: str, path: Path) -> Case:
    heading, _, body = block.partition("\n")
    id_, _, title = heading.partition(": ")
    programs: dict[Variant, Program] = {}
    for info, text in re.findall(r"^```(?:python|toml) (.*)\n((?:.*\n)*?)```$", body, flags=re.MULTILINE):
        variant, _, name = info.partition(" ")
        if variant not in get_args(Variant):
            raise CorpusError(f"{path.name}: {id_}: unknown kind of program {variant!r}")
        files = programs.setdefault(variant, {})
        if (name or "main.py") in files:
            raise CorpusError(f"{path.name}: {id_}: {variant} {name} twice")
        files[name or "main.py"] = text
    prose = re.sub(r"^```.*\n(?:.*\n)*?```$", "", body, flags=re.MULTILINE)
    settings = re.findall(r"^- (\w+): (.*)$", prose, flags=re.MULTILINE)
    if unknown := {key for key, _ in settings} - {"expect", "extract", "python"}:
        raise CorpusError(f"{path.name}: {id_}: unknown settings {', '.join(sorted(unknown))}")
    expectations = tuple(_parse_expectation(value, path, id_) for key, value in settings if key == "expect")
    if not expectations or "main.py" not in programs.get("orig", {}):
        raise CorpusError(f"{path.name}: {id_}: a case needs an expectation and an original program")
    return Case(
        id=id_,
        title=title,
        advice=re.sub(r"^- \w+: .*$", "", prose, flags=re.MULTILINE).strip(),
        expectations=expectations,
        arguments=tuple(dict(settings).get("extract", "main.py").split()),
        python=tuple(int(part) for part in dict(settings).get("python", "3").split(".")),
        programs=programs,
    )


def _parse_expectation(text: str, path: Path, id_: str) -> Expectation:
    helper, verdict, *codes = text.split()
    if verdict not in get_args(Verdict):
        raise CorpusError(f"{path.name}: {id_}: unknown verdict {verdict!r}")
    return Expectation(helper, cast("Verdict", verdict), frozenset(codes))
