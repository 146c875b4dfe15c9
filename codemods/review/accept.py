"""Accepted places: a file of identities with reasons, which hold wherever the code moves."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from codemods.program.source import SourceError
from codemods.review.report import Accepted, Changed, Gone, Left, New, Outcome, Place, Regrouped, Review
from codemods.review.trees import Tree, spellings

_KEYS = {"id", "reason", "what"}
Kind = Literal[
    "gone", "new", "name", "aligned", "import", "dropped", "order", "early", "lost", "met", "not judged"
]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is left to read: where it is, in which unit, and what it says."""

    id: str
    kind: Kind
    path: str
    first: int
    last: int
    unit: str
    text: str


def items(review: Review) -> Iterator[Item]:
    """Everything that is left to read; once a statement that binds many names of its module."""
    for group in _groups(review):
        units = ", ".join(dict.fromkeys(item.unit for item in group))
        yield dataclasses.replace(group[0], unit=units)


def _groups(review: Review) -> list[list[Item]]:
    """Places that are left, each with the others that are the same statement."""
    found: dict[tuple[object, ...], list[Item]] = {}
    for item in _every(review):
        statement = item.kind in ("gone", "new")
        key = (item.kind, item.path, item.first, item.last, item.text) if statement else (item,)
        found.setdefault(key, []).append(item)
    return list(found.values())


def _every(review: Review) -> Iterator[Item]:
    for outcome in review.outcomes:
        yield from _of(outcome)
    kinds: tuple[tuple[Kind, tuple[Left, ...]], ...] = (
        ("import", review.imports),
        ("dropped", review.dropped),
        ("order", review.order),
        ("early", review.early),
    )
    for kind, found in kinds:
        yield from (_left(kind, "", left) for left in found)
    for lost in review.lost:
        yield Item(lost.id, "lost", lost.path, 1, 1, "", f"{lost.name}, which {_list(lost.users)} imports")
    for met in review.met:
        text = f"{met.name} is new, and {_list(met.users)} gets it {met.how}"
        yield Item(met.id, "met", met.path, 1, 1, "", text)
    for file in review.not_judged:
        yield Item(file.id, "not judged", file.path, 1, 1, "", file.why)


def _of(outcome: Outcome) -> Iterator[Item]:
    match outcome:
        case Changed(head=place, gone=gone, new=new, names=names):
            for name in names:
                yield Item(name.id, "name", place.path, place.line, place.line, place.qualname, str(name))
            yield from (_left("gone", outcome.base.qualname, left) for left in gone)
            yield from (_left("new", place.qualname, left) for left in new)
        case New(head=place, left=left):
            yield from (_left("new", place.qualname, each) for each in left)
        case Gone(base=place, left=left):
            yield from (_left("gone", place.qualname, each) for each in left)
        case Regrouped(place=there, id=name):
            text = "stands on the other side in its order, spread over other definitions"
            yield Item(name, "aligned", there.path, there.line, there.line, there.qualname, text)


def _left(kind: Kind, unit: str, left: Left) -> Item:
    return Item(left.id, kind, left.path, left.first, left.last, unit, left.text)


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names)


def read_accepted(path: Path) -> dict[str, str]:
    """Reasons by identity.

    Raises:
        SourceError: if the file is not there or not as it must be.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise SourceError(f"{path}: no such file; --format accept writes what it may hold") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: can't be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SourceError(f"{path}: not valid TOML: {error}") from None
    entries = table.get("accepted", [])
    if table.get("version") != 1:
        raise SourceError(f"{path}: version must be 1")
    if unknown := sorted(table.keys() - {"version", "accepted"}):
        raise SourceError(f"{path}: unknown key {unknown[0]}; known are version and [[accepted]]")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SourceError(f"{path}: accepted must be tables, [[accepted]]")
    found: dict[str, str] = {}
    for entry in entries:
        name = entry.get("id")
        if unknown := sorted(entry.keys() - _KEYS):
            raise SourceError(f"{path}: unknown key {unknown[0]} of {name}; known are id, reason, what")
        if not isinstance(name, str) or not all(isinstance(value, str) for value in entry.values()):
            raise SourceError(f"{path}: an entry of [[accepted]] needs an id, and texts alone")
        if not entry.get("reason", "").strip():
            raise SourceError(f"{path}: {name} has no reason; say why it is right")
        if name in found:
            raise SourceError(f"{path}: {name} is accepted twice")
        found[name] = entry["reason"]
    return found


def accept(review: Review, base: Tree, file: Path) -> Review:
    """A review without what a file accepts; entries that match nothing are stale: then nothing is clean.

    Entries of the base's own version of the file are of an earlier change. The file itself is not judged.

    Raises:
        SourceError: if it is not there or not as it must be.
    """
    reasons = read_accepted(file)
    groups = _groups(review)
    known = {item.id for group in groups for item in group}
    given = tuple(reasons)
    reasons |= {item.id: reasons[g[0].id] for g in groups if g[0].id in reasons for item in g[1:]}
    own = frozenset(spellings(str(file)))
    earlier = {name for path in own & base.identities.keys() for name in _earlier(base, path)}
    return dataclasses.replace(
        review,
        outcomes=tuple(_accepted(outcome, reasons) for outcome in review.outcomes),
        imports=tuple(each for each in review.imports if each.id not in reasons),
        dropped=tuple(each for each in review.dropped if each.id not in reasons),
        order=tuple(each for each in review.order if each.id not in reasons),
        early=tuple(each for each in review.early if each.id not in reasons),
        lost=tuple(each for each in review.lost if each.id not in reasons),
        met=tuple(each for each in review.met if each.id not in reasons),
        not_judged=tuple(each for each in review.not_judged if each.id not in reasons),
        accepted=tuple(name for name in given if name in known),
        stale=tuple(name for name in given if name not in known and name not in earlier),
    )


def _earlier(base: Tree, path: str) -> list[str]:
    try:
        entries = tomllib.loads(base.read(path).decode("utf-8")).get("accepted", [])
        return [str(entry["id"]) for entry in entries]
    except (ValueError, TypeError, KeyError, AttributeError):
        return []


def _accepted(outcome: Outcome, reasons: Mapping[str, str]) -> Outcome:
    found = [item for item in _of(outcome) if item.id in reasons]
    if not found:
        return outcome
    if len(found) == sum(1 for _ in _of(outcome)):
        base: Place | None = getattr(outcome, "base", None)
        told = tuple(dict.fromkeys(reasons[item.id] for item in found))
        return Accepted(base, getattr(outcome, "head", None), told)
    match outcome:
        case Changed(gone=gone, new=new, names=names):
            named = tuple(name for name in names if name.id not in reasons)
            return dataclasses.replace(
                outcome, gone=_open(gone, reasons), new=_open(new, reasons), names=named
            )
        case New(left=left) | Gone(left=left):
            return dataclasses.replace(outcome, left=_open(left, reasons))
    return outcome


def _open(left: tuple[Left, ...], reasons: Mapping[str, str]) -> tuple[Left, ...]:
    return tuple(each for each in left if each.id not in reasons)


def as_entries(review: Review) -> str:
    """Write the places that may be accepted, to be given reasons and put in a file."""
    lines = ["# Accept what you have read and found right: give it a reason, delete the rest.", "version = 1"]
    for item in items(review):
        lines += [
            "",
            "[[accepted]]",
            f'id = "{item.id}"',
            f"what = {_quoted(f'{item.kind}, {item.path}:{item.first} {item.unit}: {item.text}')}",
            'reason = ""',
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return json.dumps(plain, ensure_ascii=False)
