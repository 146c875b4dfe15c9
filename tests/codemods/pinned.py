"""What the tool writes, pinned: any other text of a rewrite shows here, right or wrong.

    python -m tests.codemods.pinned keep FOLDER     write down what this checkout's tool makes of everything
    python -m tests.codemods.pinned diff FOLDER     the difference to what another checkout kept, as a diff
    python -m tests.codemods.pinned approve         take today's texts of the cases as right

`keep` and `diff` take `--only` PREFIX (repeated: `hazard`, `loop`, `monolith`, `plans`, `fuzz`,
`package`), `--fuzz` N programs and `--packages` N files of installed packages.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import hashlib
import importlib.util
import io
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from codemods.extract import main as extract
from tests.codemods.extract.monolith import SOURCE
from tests.codemods.fuzz.check import Declined, lift
from tests.codemods.fuzz.dress import PLAIN, WARDROBE, Dress
from tests.codemods.fuzz.modes import MODES, Mode
from tests.codemods.fuzz.session import mode_of, program_of
from tests.codemods.hazards.corpus import load
from tests.codemods.hazards.run import lacks_option
from tests.codemods.plans.loop_programs import REFUSED, TAKEN

ROOT = Path(__file__).parents[2]
DIGESTS = Path(__file__).with_name("pinned.txt")
PACKAGES = (
    "_pytest", "click", "grimp", "hypothesis", "importlinter", "jinja2", "jsonschema", "libcst", "mypy",
    "networkx", "pip", "pydantic", "pygments", "rich", "setuptools", "sympy", "urllib3", "werkzeug",
)  # fmt: skip
LARGEST = 60_000
LOOP = '[loop]\nclass = "Looped"\nto = "looped.py"\nmethod = "run"\n'

Pins = Iterator[tuple[str, str]]
"""A key, and all that is to stay the same: answers, then files with their names."""


def cases() -> Pins:
    """The small programs of the tests: each hazard in every mode, loops, the small trainer."""
    for case in load():
        if sys.version_info < case.python or lacks_option(case, extract):
            continue
        original = case.programs["orig"]
        yield f"hazard/{case.id}/own", asked(original, case.arguments)
        subject = original.get("program.py", original["main.py"])
        yield from in_modes(f"hazard/{case.id}", subject)
    for name, program in {**TAKEN, **REFUSED}.items():
        plan = f'version = 1\nsource = "m.py"\nfunction = "train"\n{LOOP}'
        text = program if isinstance(program, str) else program[-1]
        yield f"loop/{name}", asked({"m.py": text, "plan.toml": plan}, ("--plan", "plan.toml"))
    yield from in_modes("monolith", SOURCE)


def in_modes(key: str, text: str, modes: tuple[Mode, ...] = MODES, dress: Dress = PLAIN) -> Pins:
    """What comes of a program in each way of asking."""
    for mode in modes:
        try:
            lifted = lift(text, extract, mode, dress)
        except Declined as error:
            yield f"{key}/{mode}", f"declined: {error}\n"
            continue
        except Exception as error:
            yield f"{key}/{mode}", f"crashed: {type(error).__name__}: {error}\n"
            continue
        if lifted.asked is not None:
            said = "".join(f"{' '.join(entry)}\n" for entry in lifted.helpers)
            changed = {name: made for name, made in lifted.files.items() if made != text}
            yield f"{key}/{mode}", said + shown(changed)


def asked(files: dict[str, str], arguments: tuple[str, ...]) -> str:
    """What the tool prints and leaves for its own arguments, in a folder of these files."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text, encoding="utf-8")
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            status = extract([*arguments, "--write", "--output-format", "json"])
        made = {
            path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(Path(folder).rglob("*.py"))
        }
    changed = {name: text for name, text in made.items() if files.get(name) != text}
    return f"{status}\n{out.getvalue()}{errors.getvalue()}" + shown(changed)


def shown(files: dict[str, str]) -> str:
    """Files under headings."""
    return "".join(f"#% {name}\n{text}" for name, text in sorted(files.items()))


def plans() -> Pins:
    """What the shipped plans make of the shipped monolith."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        last = sorted((ROOT / "codemods" / "plans").glob("*.toml"))[-1]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            extract(["--plan", str(last), "--root", str(ROOT), "--derive", str(tree)])
        yield "plans/report", out.getvalue().replace(folder, "")
        for path in sorted(tree.glob("src/**/*.py")):
            yield f"plans/{path.relative_to(tree)}", path.read_text(encoding="utf-8")


def fuzzed(count: int) -> Pins:
    """Generated programs, each in the mode and dress of its seed."""
    for seed in range(count):
        mode = mode_of(seed)
        dress = WARDROBE[seed % len(WARDROBE)]
        yield from in_modes(f"fuzz/{seed}", dress.put_on(program_of(seed)), (mode,), dress)


def packaged(count: int) -> Pins:
    """Files of installed packages that have helpers, evenly picked, in every mode but the loop's."""
    modes = tuple(mode for mode in MODES if mode != "loop")
    found = [(name, text) for name, text in installed() if has_helpers(text)]
    step = max(1, len(found) // count) if count else 1
    for name, text in found[::step][:count]:
        yield from in_modes(f"package/{name}", text, modes)


def installed() -> Iterator[tuple[str, str]]:
    """Files of packages, by name."""
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            continue
        folder = Path(spec.origin).parent
        for path in sorted(folder.rglob("*.py")):
            data = path.read_bytes()
            if len(data) <= LARGEST and b"    def " in data and b"\r" not in data:
                with contextlib.suppress(UnicodeDecodeError):
                    yield path.relative_to(folder.parent).as_posix(), data.decode()


def has_helpers(text: str) -> bool:
    """Whether a function is defined inside another."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return any(
        isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner is not outer
        for outer in functions
        for inner in ast.walk(outer)
    )


def digest(text: str) -> str:
    """A short digest."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def approved() -> dict[str, str]:
    """The digests taken as right."""
    lines = DIGESTS.read_text(encoding="utf-8").splitlines()
    return {key: value for value, _, key in (line.partition(" ") for line in lines)}


def everything(options: argparse.Namespace) -> Pins:
    """All texts that are asked for."""
    wanted = tuple(options.only or ("",))
    makers = (cases(), plans(), fuzzed(options.fuzz), packaged(options.packages))
    parts = ("hazard loop monolith", "plans", "fuzz", "package")
    for words, maker in zip(parts, makers, strict=True):
        if any(word.startswith(w) or w.startswith(word) for word in words.split() for w in wanted):
            yield from (pin for pin in maker if pin[0].startswith(wanted))


def keep(folder: Path, pins: Pins) -> int:
    """Write the texts down."""
    count = 0
    for key, text in pins:
        path = folder / f"{key}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        count += 1
    print(f"{count} texts in {folder}")
    return 0


def diff(folder: Path, pins: Pins) -> int:
    """Print what differs from the texts that were kept; 1 if anything does."""
    count, differing = 0, 0
    for key, text in pins:
        path = folder / f"{key}.txt"
        with contextlib.ExitStack() as stack:
            before = (
                stack.enter_context(path.open(encoding="utf-8", newline="")).read() if path.exists() else ""
            )
        count += 1
        if text != before:
            differing += 1
            lines = difflib.unified_diff(before.splitlines(), text.splitlines(), key, key, lineterm="")
            print(*lines, sep="\n", flush=True)
    print(f"{count} texts compared, {differing} differ")
    return 1 if differing else 0


def main(argv: list[str]) -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description="Pin what the tool writes.")
    parser.add_argument("command", choices=["keep", "diff", "approve"])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--only", action="append")
    parser.add_argument("--fuzz", type=int, default=400)
    parser.add_argument("--packages", type=int, default=200)
    options = parser.parse_args(argv)
    if options.command == "approve":
        lines = sorted(f"{digest(text)} {key}" for key, text in cases())
        DIGESTS.write_text("\n".join(sorted(lines, key=lambda line: line[13:])) + "\n", encoding="utf-8")
        return 0
    if options.folder is None:
        parser.error("name a folder")
    return (keep if options.command == "keep" else diff)(options.folder, everything(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
