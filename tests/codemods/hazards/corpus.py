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
the codes, if there are any), `either` of the two, `documented` (done, and what it prints may differ as the
documentation says), and `declined` (the whole input is unusable).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).with_name("cases")
VERDICTS = {"sound", "refused", "either", "documented", "declined"}
Program = dict[str, str]
"""File name to text; `main.py` is the entry point."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must become of one helper; `codes` empty means that any refusal code will do."""

    helper: str
    verdict: str
    codes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Case:
    """One hazard with its programs: `orig`, and perhaps `naive` and `sound`."""

    id: str
    expectations: tuple[Expectation, ...]
    arguments: tuple[str, ...]
    python: tuple[int, ...]
    programs: dict[str, Program]

    @property
    def hazard(self) -> str:
        """The hazard's number without the suffix that tells its cases apart."""
        return self.id.partition("-")[0]


def load() -> tuple[Case, ...]:
    """Return every case, in the order of the files' names and headings."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(CASES.glob("*.md")))
    blocks = (block for text in texts for block in re.split(r"^## ", text, flags=re.MULTILINE)[1:])
    cases = tuple(map(_case, blocks))
    assert len({case.id for case in cases}) == len(cases), "an id is there twice"
    return cases


def _case(block: str) -> Case:
    heading, _, body = block.partition("\n")
    id_ = heading.partition(": ")[0]
    programs: dict[str, Program] = {}
    for info, text in re.findall(r"^```(?:python|toml) (.*)\n((?:.*\n)*?)```$", body, flags=re.MULTILINE):
        variant, _, name = info.partition(" ")
        assert variant in ("orig", "naive", "sound"), id_
        programs.setdefault(variant, {})[name or "main.py"] = text
    prose = re.sub(r"^```.*\n(?:.*\n)*?```$", "", body, flags=re.MULTILINE)
    settings = re.findall(r"^- (\w+): (.*)$", prose, flags=re.MULTILINE)
    assert {key for key, _ in settings} <= {"expect", "extract", "python"}, id_
    expectations = tuple(_expectation(value) for key, value in settings if key == "expect")
    assert expectations, id_
    assert "main.py" in programs["orig"], id_
    return Case(
        id=id_,
        expectations=expectations,
        arguments=tuple(dict(settings).get("extract", "main.py").split()),
        python=tuple(int(part) for part in dict(settings).get("python", "3").split(".")),
        programs=programs,
    )


def _expectation(text: str) -> Expectation:
    helper, verdict, *codes = text.split()
    assert verdict in VERDICTS, text
    return Expectation(helper, verdict, frozenset(codes))
