"""The committed pages: a table for each program, and one of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
HEATS = ("env", "step", "every-n", "epoch", "once", "-")
_APPROVED = "## Approved"


def write(name: str, lines: Sequence[str], approved: Sequence[str]) -> None:
    """Write the verdicts and the page of a program, then the page of all that are committed."""
    verdicts_of(name).parent.mkdir(exist_ok=True)
    verdicts_of(name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    page_of(name).write_text(page(name, lines, approved), encoding="utf-8")
    every = {path.stem: committed(path.stem) for path in sorted(FOLDER.glob("verdicts/*.txt"))}
    about = FOLDER.joinpath("about.md").read_text(encoding="utf-8")
    FOLDER.joinpath("README.md").write_text(summary(every, about), encoding="utf-8")


def page_of(name: str) -> Path:
    """The page of a program."""
    return FOLDER / f"{name}.md"


def verdicts_of(name: str) -> Path:
    """The verdicts of a program, one a line."""
    return FOLDER / "verdicts" / f"{name}.txt"


def committed(name: str) -> list[str]:
    """The verdicts that are committed; none for a program that is new."""
    path = verdicts_of(name)
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def of_kind(lines: Iterable[str], kind: str) -> list[tuple[str, str]]:
    """Things and verdicts of a kind."""
    found = [line.partition(": ") for line in lines if line.startswith(kind + " ")]
    return [(thing.removeprefix(kind + " "), verdict) for thing, _, verdict in found]


def page(name: str, lines: Sequence[str], approved: Sequence[str]) -> str:
    """The page of a program."""
    size = dict(of_kind(lines, "size"))
    counts = f"{size['files']} Python files, {int(size['lines']):,} lines."
    parts = [f"# {name}\n\n{counts} Each verdict: [verdicts/{name}.txt](verdicts/{name}.txt)."]
    parts.append(_helpers(lines))
    if loops := of_kind(lines, "loop"):
        parts.append("## Loops that a plan makes a class of\n\n" + _counted("loops", loops))
    if plans := of_kind(lines, "plan"):
        sample = (
            f"{len(plans)} of {size['plannable']} files of 100 lines or more, by the hash of their paths."
        )
        parts.append(f"## Plans that the audit proposes\n\n{sample}\n\n{_counted('plans', plans)}")
    if planned := of_kind(lines, "planned"):
        parts.append("## The plan of the case study\n\n" + _counted("helpers and loop", planned))
    parts.append(_places(lines))
    rows = [[kind, verdict] for kind, verdict in of_kind(lines, "review")]
    parts.append(
        "## What the review leaves of two refactorings\n\n" + table(["refactoring", "verdict"], rows)
    )
    if approved:
        parts.append(_APPROVED + "\n\n" + "\n".join(approved))
    return "\n\n".join(parts) + "\n"


def approved_on(name: str) -> list[str]:
    """The reasons for worse verdicts that a page has."""
    path = page_of(name)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [line for line in text.partition(_APPROVED)[2].splitlines() if line.startswith("- ")]


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; every column but the first is aligned right where it has numbers."""
    cells = [[str(cell) for cell in row] for row in rows]
    rules = [
        "---:" if cells and all(row[at].isdigit() for row in cells) else "---" for at in range(len(heads))
    ]
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(rules)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in cells)])


@dataclass(frozen=True, slots=True)
class Codes:
    """How often a code is reported, is among the reasons of a refusal, and is the only one."""

    reported: Counter[str]
    among: Counter[str]
    sole: Counter[str]

    @classmethod
    def of(cls, verdicts: Iterable[str]) -> Codes:
        """Count the codes of the helpers' verdicts."""
        found = cls(Counter(), Counter(), Counter())
        for verdict in verdicts:
            if verdict.startswith("refused "):
                codes = verdict.removeprefix("refused ").split(", ")
                found.reported[codes[0]] += 1
                found.among.update(codes)
                found.sole.update(codes if len(codes) == 1 else ())
        return found

    def table(self) -> str:
        """Codes by how often each is reported."""
        codes = sorted(self.among, key=lambda code: (-self.reported[code], -self.among[code], code))
        rows = [[code, self.reported[code], self.among[code], self.sole[code]] for code in codes]
        return table(["code", "reported", "among the reasons", "only reason"], rows)


def _helpers(lines: Sequence[str]) -> str:
    helpers = [verdict for _, verdict in of_kind(lines, "helper")]
    unusable = Counter(verdict for _, verdict in of_kind(lines, "file"))
    lifted = f"{helpers.count('lifted')} of {len(helpers)} are lifted"
    parts = [f"## Helpers\n\n{lifted}, {_wrapped(lines)} more with a wrapper."]
    parts += [f"{count} files: {verdict}." for verdict, count in sorted(unusable.items())]
    codes = Codes.of(helpers)
    return "\n\n".join([*parts, codes.table()] if codes.among else parts)


def _wrapped(lines: Iterable[str]) -> int:
    """The number of helpers that are lifted with ``--wrapper auto`` alone."""
    return sum(verdict == "lifted" for _, verdict in of_kind(lines, "wrapped"))


def _counted(what: str, found: Iterable[tuple[str, str]]) -> str:
    counts = Counter(verdict for _, verdict in found)
    return table(["verdict", what], sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _places(lines: Sequence[str]) -> str:
    head = "## Places that stall the device\n\n"
    if failed := of_kind(lines, "places"):
        return head + f"None is known: {failed[0][1]}."
    counts: Counter[tuple[str, str]] = Counter()
    for thing, count in of_kind(lines, "place"):
        code, heat = thing.split(" ")[-2:]
        counts[code, heat] += int(count)
    if not counts:
        return head + "None."
    heats = [heat for heat in HEATS if any(found == heat for _, found in counts)]
    codes = sorted({code for code, _ in counts})
    return head + table(["code", *heats], [[code, *(counts[code, heat] for heat in heats)] for code in codes])


def summary(verdicts: Mapping[str, Sequence[str]], about: str) -> str:
    """The page of all programs."""
    rows: list[list[object]] = []
    for name, lines in verdicts.items():
        helpers = [verdict for _, verdict in of_kind(lines, "helper")]
        loops = [verdict for _, verdict in of_kind(lines, "loop")]
        plans = [verdict for _, verdict in of_kind(lines, "plan")]
        places = sum(int(count) for _, count in of_kind(lines, "place"))
        reviews = dict(of_kind(lines, "review"))
        rows.append(
            [
                f"[{name}]({name}.md)",
                dict(of_kind(lines, "size"))["files"],
                len(helpers),
                helpers.count("lifted"),
                f"{loops.count('lifted')} of {len(loops)}",
                f"{plans.count('carried out')} of {len(plans)}",
                "not known" if of_kind(lines, "places") else places,
                *(_short(reviews.get(kind, "not measured")) for kind in ("moved", "renamed")),
            ]
        )
    heads = [
        "program",
        "files",
        "helpers",
        "lifted",
        "loops",
        "plans",
        "places",
        "moved",
        "renamed",
    ]
    every = [verdict for lines in verdicts.values() for _, verdict in of_kind(lines, "helper")]
    lifted, wrapped = every.count("lifted"), sum(map(_wrapped, verdicts.values()))
    parts = [about.rstrip("\n"), table(heads, rows)]
    share, both = (f"{100 * count / max(1, len(every)):.1f} %" for count in (lifted, lifted + wrapped))
    told = (
        f"{lifted:,} of {len(every):,} are lifted ({share}), {wrapped:,} more leave a wrapper (both: {both})."
    )
    parts.append(f"## Helpers of all programs\n\n{told}")
    parts.append(Codes.of(every).table())
    loops = [found for lines in verdicts.values() for found in of_kind(lines, "loop")]
    parts.append("## Loops of all programs\n\n" + _counted("loops", loops))
    return "\n\n".join(parts) + "\n"


def _short(verdict: str) -> str:
    if not verdict.startswith("left "):
        return verdict
    return verdict.split(" ")[1]
