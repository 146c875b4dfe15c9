"""Run the corpus and print what became of every case: `python -m tests.codemods.hazards [ID...]`."""

from __future__ import annotations

import sys
from collections import Counter

from codemods.extract import main as extract

from tests.codemods.hazards.corpus import load
from tests.codemods.hazards.run import Crashed, Kept, Outcome, Unmet, Wrong, lacks_option, run_case


def main(arguments: list[str]) -> int:
    """Print a line a case and the totals; return 1 if any case is not as it should be."""
    totals: Counter[str] = Counter()
    for case in load():
        if arguments and not {case.id, case.hazard} & set(arguments):
            continue
        if sys.version_info < case.python or lacks_option(case, extract):
            totals["skipped"] += 1
            continue
        outcome = run_case(case, extract)
        kind = _kind(outcome)
        totals[kind] += 1
        print(f"{case.id:14} {kind:8} {case.title}")
        for line in _details(outcome):
            print(f"{'':24}{line}")
    print("  ".join(f"{kind}: {count}" for kind, count in sorted(totals.items())))
    return 1 if totals["wrong"] + totals["crashed"] + totals["unmet"] else 0


def _kind(outcome: Outcome) -> str:
    match outcome:
        case Kept(helpers):
            statuses = {helper.status for helper in helpers} - {"kept"}
            return "+".join(sorted(statuses)) or "kept"
        case Wrong():
            return "wrong"
        case Crashed():
            return "crashed"
        case Unmet():
            return "unmet"


def _details(outcome: Outcome) -> list[str]:
    if isinstance(outcome, Crashed):
        return outcome.what.splitlines()
    refusals = [
        f"{h.name}, line {h.line}: {h.code}: {h.reason}" for h in outcome.helpers if h.status == "refused"
    ]
    return refusals if isinstance(outcome, Kept) else [*outcome.what.splitlines(), *refusals]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
