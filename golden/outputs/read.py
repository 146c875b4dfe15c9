"""Everything that a run printed and wrote, each file by the reader of its format."""

from __future__ import annotations

import contextlib
import gzip
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import xxhash

from golden.outputs.arrays import read_numpy, read_safetensors
from golden.outputs.masks import DRAWN, LeftOut, Masks, is_bar
from golden.outputs.pickles import Unreadable, is_checkpoint, is_pickle, read_checkpoint, read_pickle
from golden.outputs.tables import Rows, is_table, read_json, read_json_lines, read_table, read_text
from golden.outputs.tensorboard import read_event_file
from golden.trace.outputs import Output

_PICKLES = {".pkl", ".pickle", ".joblib"}
# Of larger pickles under other names, such as games to learn from, the digest says as much and costs less.
_SMALL = 2**20
# Neither a result nor stable: locks, sockets of loggers, compiled code.
_IGNORED_SUFFIXES = {".lock", ".pyc", ".tmp", ".sock", ".pid"}
_IGNORED_FOLDERS = {"__pycache__", ".git"}
_IGNORED_SHOWN = 3
# What wandb keeps of the machine and of itself.
_OF_THE_MACHINE = {"wandb-metadata.json", "requirements.txt", "conda-environment.yaml"}


def read_outputs(
    streams: Mapping[str, Path],
    files: Sequence[tuple[str, Path]],
    links: Sequence[tuple[str, Path]],
    masks: Masks,
    *,
    ignored: Callable[[str], bool],
    ordered: bool,
    copied: Callable[[Path], str | None],
) -> tuple[list[Output], list[str]]:
    """Read streams and files by value; those whose content can't be read are named with the reason.

    Also return phrases for what was ``ignored``, by name, or masked. ``links`` are not followed: what they
    lead to is their value. ``ordered`` is false where several processes share the streams: then their lines
    count, not their order. A file that is ``copied`` from one of the program's is compared by which that is.
    """
    found = []
    phrases = [f"{name} ([outputs] ignore)" for name in streams if ignored(name)]
    without = [name for name, path in files if ignored(name) and not is_passing(path)]
    phrases += [f"file {name} ([outputs] ignore)" for name in without[:_IGNORED_SHOWN]]
    if without[_IGNORED_SHOWN:]:
        phrases.append(f"{len(without) - _IGNORED_SHOWN} more files ([outputs] ignore)")
    for name, path in streams.items():
        if ignored(name):
            continue
        # A carriage return is no end of a line, which it would be read as.
        own, text = replace(masks, left_out=LeftOut()), path.read_bytes().decode("utf-8", "backslashreplace")
        # What one process draws another one draws over: each state counts.
        rows = read_text(text if ordered else DRAWN.sub("\n", text), own)
        phrases += own.left_out.in_words(name)
        if not ordered:
            # Which of them stay on the screen depends on which process is faster.
            kept = tuple(row for row in rows if not is_bar(str(row["line"])))
            phrases += [f"progress bars of {name}, which several processes draw"] if kept != rows else []
            rows = tuple(sorted(kept, key=lambda row: str(row["line"])))
        found.append(Output("text", name, rows))
    seen: Counter[str] = Counter()
    for given, path in sorted(files):
        if is_passing(path) or ignored(given):
            continue
        # Of its logs the newest are linked to from its own folder.
        of_itself = path.resolve().parent.name == "logs" or path.name in _OF_THE_MACHINE
        if "wandb" in path.parts and of_itself:
            continue
        name = masks.path(given)
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        if source := copied(path):
            found.append(Output("link", name, ({"copy of": source},)))
            phrases.append(f"text of {name}, a copy of {source}")
            continue
        own = replace(masks, left_out=LeftOut())
        found.append(_read(name, path, own))
        phrases += own.left_out.in_words(name)
    for given, link in sorted((name, path) for name, path in links if not ignored(name)):
        target = os.path.normpath(link.parent / link.readlink())
        found.append(Output("link", masks.path(given), ({"to": masks.path(target)},)))
    return found, phrases


def is_passing(path: Path) -> bool:
    """Tell whether a file is no result of a program: a lock, a socket, bytecode."""
    return path.suffix in _IGNORED_SUFFIXES or not _IGNORED_FOLDERS.isdisjoint(path.parts)


def _read(name: str, path: Path, masks: Masks) -> Output:
    try:
        kind, rows = _rows(path, masks)
    except (Unreadable, OSError, EOFError) as error:
        return Output("unread", name, (), unread=str(error).splitlines()[0][:200])
    return Output(kind, name, rows)


def _rows(path: Path, masks: Masks) -> tuple[str, Rows]:
    suffix = path.suffix.lower()
    if suffix == ".wandb":
        raise Unreadable("wandb's own log; what it keeps as JSON beside it is compared")
    if ".tfevents" in path.name:
        rows = read_event_file(path.read_bytes())
        tags = {row["tag"] for row in rows if masks.is_unstable(row["tag"])}
        masks.left_out.fields.update(tags)
        return "tensorboard", tuple(row for row in rows if row["tag"] not in tags)
    if suffix == ".safetensors":
        return "checkpoint", _tree(read_safetensors(path), masks)
    if suffix in (".npz", ".npy"):
        return "arrays", _tree(read_numpy(path), masks)
    if is_checkpoint(path):
        return "checkpoint", _tree(read_checkpoint(path), masks)
    if suffix in _PICKLES:
        return "pickle", _tree(read_pickle(path.read_bytes()), masks)
    raw = gzip.decompress(path.read_bytes()) if suffix == ".gz" else path.read_bytes()
    if suffix == ".gz":
        suffix = Path(path.stem).suffix.lower()
    if len(raw) <= _SMALL and is_pickle(raw):
        with contextlib.suppress(Unreadable):
            return "pickle", _tree(read_pickle(raw), masks)
    text = _text(raw)
    if text is None:
        return "binary", ({"bytes": f"bytes[{len(raw)}] {xxhash.xxh3_128_hexdigest(raw)}"},)
    if suffix == ".json":
        return "json", read_json(text, masks)
    if suffix in (".jsonl", ".ndjson"):
        return "json lines", read_json_lines(text, masks)
    if suffix in (".csv", ".tsv"):
        return "table", read_table(text, masks, "," if suffix == ".csv" else "\t")
    if is_table(text):
        return "table", read_table(text, masks, "\t")
    return "text", read_text(text, masks)


def _tree(tree: Any, masks: Masks) -> tuple[Mapping[str, Any], ...]:
    return (masks.tree(tree if isinstance(tree, dict) else {"value": tree}),)


def _text(raw: bytes) -> str | None:
    if b"\0" in raw[:8192]:
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
