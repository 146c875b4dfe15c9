"""Everything that a report says about one run, gathered from two traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from golden.compare import compare
from golden.compare.divergence import Divergence
from golden.compare.outcome import Comparison, Different
from golden.compare.steps import StepDivergence, first_steps
from golden.trace.errors import ExitCode
from golden.trace.kinds import KINDS
from golden.trace.streams import Stream, by_stream
from golden.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class RunReport:
    """Two traces of one run and what comparing them found."""

    left_title: str
    right_title: str
    left: Trace
    right: Trace
    comparison: Comparison
    # What `golden ab --localize` found when it ran both sides again.
    closely: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The run's name."""
        return self.left.about.run

    @property
    def code(self) -> ExitCode:
        """The exit status that it asks for."""
        return self.comparison.code

    @property
    def divergences(self) -> tuple[Divergence, ...]:
        """All that was found, the first first."""
        found = self.comparison
        return (found.first, *found.rest) if isinstance(found, Different) else ()

    @property
    def lacks_values(self) -> bool:
        """True if the tensors of the first divergence are known by their digests only."""
        first = self.divergences[0] if self.divergences else None
        return isinstance(first, StepDivergence) and any(
            change.distance is None and not change.note
            for kind in first.kinds
            if kind.kind in KINDS
            for change in kind.tensors
        )

    def streams(self) -> list[tuple[Stream, int, int | None]]:
        """Return each stream with its steps and the first one that differs, environments first."""
        steps: dict[Stream, int] = {}
        for trace in (self.left, self.right):
            for process in trace.processes:
                for stream, taken in by_stream(process).items():
                    steps[stream] = max(steps.get(stream, 0), len(taken))
        firsts = first_steps(self.divergences)
        order = sorted(steps, key=lambda stream: (stream.env is None, stream.env or 0))
        return [(stream, steps[stream], firsts.get(stream)) for stream in order]


def build(
    left: Trace, right: Trace, *, left_title: str, right_title: str, closely: Sequence[str] = ()
) -> RunReport:
    """Compare two traces and gather what there is to show."""
    return RunReport(left_title, right_title, left, right, compare(left, right), tuple(closely))
