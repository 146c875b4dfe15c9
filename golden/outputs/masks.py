"""Masks for text that can't repeat: times, rates, addresses, folders, progress bars, line numbers."""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from esper_harness.report.plain import listed, many
from golden.trace.paths import Patterns
from golden.trace.trace import IDS
from golden.trace.unstable import without_ids

# A field whose name has one of these words is a time or a rate.
_WORDS = {
    *("time", "times", "elapsed", "duration", "took", "latency", "seconds", "secs", "sec", "runtime"),
    *("fps", "sps", "ips", "speed", "throughput", "mfu", "wall", "walltime", "timestamp", "date", "datetime"),
    *("pid", "hostname", "rss", "created", "creation", "modified", "updated"),
}
_ENDINGS = ("_s", "_ms", "_us", "_ns", "created_at", "updated_at", "per_second")
# ... unless another one says that it is a count of steps, a setting or a score.
_NOT_MEASURED = frozenset(
    {
        *("step", "steps", "limit", "constant", "scale", "horizon", "weight", "penalty", "reward", "coef"),
        *("loss", "error", "mse", "mae", "rmse", "acc", "accuracy", "embedding", "embeddings", "dim"),
    }
)
_SPLIT = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])")
_NUMBER = r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?"
_UNIT = r"(?:ms|us|µs|μs|ns|s|secs?|seconds?|mins|minutes?|hrs?|hours?)"
_ITEM = r"(?:[A-Za-z]+|\d+)"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
# Absolute, or below what stands for a folder by then.
_FOLDERS = r"(?:(?<![\w/~}])|~|\{\w+\})(?:/[^\s'\",:()/]+)*"
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (_ESCAPE.pattern, ""),
        (r" [━╸─]{12}( \S+) .*", r"||\1 <time>"),  # of ultralytics, with its times
        # How far a bar is filled up, and gone back over, depends on how long the times in it are.
        (r" *\x08+", " "),
        # Of wandb's folders, of `time.ctime` and of TensorBoard's folders.
        (r"(?<!\d)20[0-4]\d[01]\d[0-3]\d[-_T ]?[0-2]\d[0-5]\d[0-5]\d(?!\d)", "<time>"),
        (rf"(?i){_DAY}[ _]{_MONTH}[ _]+\d+[ _]\d\d([:_-])\d\d\1\d\d(?: [A-Z]+)?[ _]20\d\d(?!\d)", "<time>"),
        (rf"{_MONTH}\d\d_\d\d-\d\d-\d\d(?!\d)", "<time>"),
        (rf"(?i)(?:{_DAY}[a-z]*_)?\d+_{_MONTH}[a-z]*_20\d\d_\d\dh?_\d\dm?_\d\ds?(?![a-z0-9])", "<time>"),
        (r"\b\d+:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
        (r"\[\d+:\d\d(?:<[^,\]]*)?, *[^,\]]*/[^,\]]*", "[<time>"),
        (r"(?<![\w:])\d\d:\d\d(?![\w:])", "<time>"),
        (r"\b1[4-9]\d{8}\.\d+\b", "<time>"),
        (rf"{_NUMBER} ?(?:{_ITEM} ?)?/ ?{_UNIT}\b", "<rate>"),
        (rf"(?<![\w.]){_NUMBER} ?{_UNIT}/{_ITEM}\b", "<rate>"),
        (rf"(?<![\w.])(?:\d+ ?h ?)?(?:\d+ ?m ?)?{_NUMBER} ?{_UNIT}(?:{_NUMBER} ?ms)?(?![\w/])", "<duration>"),
        # Shorter ones are as likely a mask of bits or a hash.
        (r"(?<=\bat )0x[0-9a-fA-F]{6,}\b|\b0x[0-9a-fA-F]{9,}\b", "<address>"),
        (rf"{_FOLDERS}/(?:site|dist)-packages/", "{packages}/"),
        (rf"{_FOLDERS}/lib/python3\.\d+/", "{python}/"),
        (r"(?:localhost|127\.0\.0\.1|\[::1\]):\d+", "localhost:<port>"),
        (r"\.py:\d+", ".py:<line>"),
        (r"\bline \d+, in ", "line <line>, in "),
        # Where a warning comes from is where its code stands: a move is no difference.
        (r"\{root\}/[^\s:]+\.py:<line>: (?=\w*Warning: )", "{root}/<file>.py:<line>: "),
        (r"\b((?:offline-)?run-<time>)-[0-9a-z]{8}(?![\w-])", r"\1-<id>"),
    )
)
_DATE = re.compile(
    r"(?<!\d)(20\d\d)([-_.]?)(\d\d)\2(\d\d)"
    r"(?:[T _-]{0,2}\d\d([:_.-]?)\d\d(?:\5\d\d(?:[.,]\d+)?)?(?!\d))?(?!\d)(?:(?:Z|[+-]\d\d:?\d\d)(?!\w))?"
)
# How far a number that is left out was set apart is told by how many digits it has.
_PADDED = re.compile(
    r"[ \t]*[ \t](<(?:unstable|duration|rate|time)>)|(<(?:unstable|duration|rate|time)>)[ \t]+"
)
# What has no space for so long is data; looking for numbers in it takes the square of its length.
_LONG = 16_384
_LONG_WORD = re.compile(rf"(?<!\S)(\S{{{_LONG},}})")
_SECONDS = re.compile(r"(?<!\d)1[4-9]\d{8}(?!\d)")
_DAYS_AWAY = 2 * 86400
# The bars of tqdm and of what imitates it: how often they are drawn depends on time.
_BAR = re.compile(r"^(?:.*?\d+%\|[^|]*\|[^\[]*|(?:.*?: )?\d+it (?=\[))(?:\[[^\]]*\]?)?")
# Rich sets what stands beside a bar apart by as much as the rate in it is short.
_FAR_IN = re.compile(r"^ {20,}")
# Ends a line, begins it again, or goes up by some.
DRAWN = re.compile(r"(\r?\n|\r|\x1b\[\d*A)")
_PICTURE = re.compile(r"(?<=%)\|[^|]*\|")
_FULL = "100%|"
_WARNING = re.compile(r"\.py:<line>: \w*Warning: ")
_HELD_BY_NAME = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])|(?<!\d)1[4-9]\d{8,11}(?:\.\d+)?(?!\d)")
_WANDB_RUN = re.compile(r"((?:offline-)?run)-(?:\d{8}_\d{6}-)?[0-9a-z]{8}(?=[/.]|$)")
_MEASURED = re.compile(r"<(?:unstable|duration|rate|time|address)>")
_SHOWN = 5
_EVENT_FILE = re.compile(r"(events\.out\.tfevents)\.[^/]*")


@dataclass
class LeftOut:
    """The masked parts of one output: fields and lines with a time or a rate, and with ids or paths."""

    fields: set[str] = field(default_factory=set)
    lines: int = 0
    ids: set[str] = field(default_factory=set)
    id_lines: int = 0
    states: bool = False

    def in_words(self, output: str) -> Iterator[str]:
        """Yield a phrase for the fields, one for the lines, and one for ids and temporary paths."""
        if self.fields:
            names = listed(sorted(self.fields), _SHOWN)
            yield f"field{'s' if len(self.fields) > 1 else ''} {names} of {output}"
        if self.lines:
            yield f"numbers in {many(self.lines, 'line')} of {output}"
        if self.states:
            yield f"earlier states of lines of {output}"
        if ids := sorted(self.ids) + [many(self.id_lines, "line")] * (self.id_lines > 0):
            yield f"{IDS}{listed(ids, _SHOWN)} of {output}"


@dataclass(frozen=True)
class Masks:
    """The masks of one run.

    ``places`` are texts with what takes their place ({out}, {root}); ``unstable`` are patterns of the names
    of fields, as in ``[events]``; ``expressions`` are masked wherever they occur in text.
    """

    places: Mapping[str, str]
    unstable: Patterns = field(default_factory=Patterns)
    expressions: Sequence[re.Pattern[str]] = ()
    left_out: LeftOut = field(default_factory=LeftOut, compare=False)

    def text(self, text: str) -> str:
        """Return one line, or one value, with placeholders for what can't repeat."""
        for found, put in self.places.items():
            text = text.replace(found, put)
        if len(text) > _LONG and len(parts := _LONG_WORD.split(text)) > 1:
            return "".join(part if index % 2 else self.text(part) for index, part in enumerate(parts))
        for pattern in self.expressions:
            text = pattern.sub("<unstable>", text)
        text = _DATE.sub(_unless_other_day, text)
        for pattern, put in _RULES:
            text = pattern.sub(put, text)
        return _PADDED.sub(_one_space, _SECONDS.sub(_unless_now, text))

    def is_unstable(self, path: str, value: Any = None) -> bool:
        """Tell whether a field is left out: the run says so, or its name is that of a time or a rate.

        No truth value and no table is one of these.
        """
        name = path.rpartition(".")[2].rpartition("/")[2]
        words = {word.lower() for word in _SPLIT.split(name)}
        timed = not words.isdisjoint(_WORDS) and words.isdisjoint(_NOT_MEASURED)
        measured = timed or name.lower().endswith(_ENDINGS)
        return self.unstable.name(path) or (measured and not isinstance(value, (bool, Mapping)))

    def lines(self, text: str) -> Iterator[str]:
        """Yield the lines of a text that can repeat, as they stay on a screen.

        How often a line is drawn over depends on time, as a rule: its last state counts.
        """
        screen: dict[int, str] = {}
        row, warned = 0, False
        parts = DRAWN.split(text)
        for line, end in zip(parts[::2], [*parts[1::2], ""], strict=True):
            if line:
                over = screen.pop(row, "")
                bar = _BAR.match(over)
                self.left_out.states |= bool(over) and not bar
                if _ESCAPE.sub("", line).strip():
                    screen[row] = over + line if bar and _FULL in over and not _BAR.match(line) else line
            row = max(0, row - int(end[2:-1] or 1)) if end.endswith("A") else row + ("\n" in end)
        for at, line in sorted(screen.items()):
            shown = _FAR_IN.sub("", self.text(line).rstrip())
            drawn = _BAR.match(shown)
            behind = shown[drawn.end() :].rstrip() if drawn else shown
            echoed, warned = warned and behind.startswith("  "), bool(_WARNING.search(behind))
            # Where a bar is when the text ends, or something is printed behind it, depends on time.
            if drawn and (_FULL in drawn[0] or (at < row and not behind)):
                # How wide it is drawn depends on how long the times in it are.
                yield from filter(None, [self._noted(_PICTURE.sub("||", drawn[0].rstrip(), count=1))])
            # What the run file masks as a whole may be there or not.
            if behind not in ("", "<unstable>") and not echoed:
                yield self._noted(behind)

    def _noted(self, line: str) -> str:
        self.left_out.lines += _MEASURED.search(line) is not None
        self.left_out.id_lines += without_ids(line) != line
        return line

    def tree(self, value: Any, path: str = "") -> Any:
        """Return a tree without its unstable fields."""
        if isinstance(value, Mapping):
            found = {}
            for key, item in value.items():
                # A table by path, such as Lightning's of the best checkpoints.
                masked = without_ids(self.text(key)) if key.startswith("/") else key
                name = key if masked in found else masked
                below = f"{path}.{name}" if path else name
                if self.is_unstable(below, item):
                    self.left_out.fields.add(below)
                else:
                    found[name] = self.tree(item, below)
            return found
        if isinstance(value, (list, tuple)):
            return [self.tree(item, f"{path}.{index}") for index, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        text = self.text(value)
        if text != value and _MEASURED.search(text):
            self.left_out.fields.add(path)
        self.left_out.ids.update([path] if without_ids(text) != text else ())
        return text

    def path(self, path: str) -> str:
        """Return the name of a file without the time, the host and the ids in it."""
        if path.startswith("wandb/") or "/wandb/" in path:
            path = _WANDB_RUN.sub(r"\1-<id>", path)
        return _HELD_BY_NAME.sub("<id>", without_ids(self.text(_EVENT_FILE.sub(r"\1", path))))


def is_bar(line: str) -> bool:
    """Tell whether a line that was read is a progress bar."""
    return _BAR.match(line) is not None


def _unless_other_day(match: re.Match[str]) -> str:
    """Return a date, with its time, unless it is far from today: then it is data."""
    try:
        day = datetime.date(int(match[1]), int(match[3]), int(match[4]))
    except ValueError:
        return match[0]
    return "<time>" if abs((day - datetime.date.today()).days) <= 2 else match[0]


def _unless_now(match: re.Match[str]) -> str:
    """Return a number that is the time of day, in seconds since 1970."""
    return "<time>" if abs(int(match[0]) - time.time()) < _DAYS_AWAY else match[0]


def _one_space(match: re.Match[str]) -> str:
    return f" {match[1]}" if match[1] else f"{match[2]} "
