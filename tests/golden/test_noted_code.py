"""Python 3.11: code that notes its lines does what it did: results, tracebacks, lines that a trace sees."""

import asyncio
import contextlib
import gc
import io
import pickle
import sys
import traceback
import types
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="later versions say it themselves")

PROGRAMS = {
    "branches": """
        def f(n):
            if n > 2:
                return "large"
            elif n == 2:
                return (1 if n
                        else 2)
            while n:
                n -= 1
                if n == 7:
                    continue
            else:
                n = 5
            return n
        print(f(3), f(2), f(1))
        """,
    "handlers": """
        def f(x):
            try:
                try:
                    return 1 / x
                except ZeroDivisionError as error:
                    print(type(error))
                    raise KeyError(x) from error
                finally:
                    print("finally")
            except KeyError:
                return None
            else:
                return 7
        print(f(1), f(0))
        try:
            raise ExceptionGroup("some", [ValueError(1), OSError(2)])
        except* ValueError:
            print("value")
        except* OSError:
            print("os")
        """,
    "with and async": """
        import asyncio, contextlib
        @contextlib.contextmanager
        def held(name):
            print("in", name)
            try:
                yield name
            finally:
                print("out", name)
        async def rows():
            for i in range(3):
                await asyncio.sleep(0)
                yield i
        async def main():
            with held("a") as a, held("b"):
                async for row in rows():
                    print(a, row)
            return [row async for row in rows() if row]
        print(asyncio.run(main()))
        def outer():
            got = yield from inner()
            yield got
        def inner():
            try:
                x = yield 1
            except ValueError:
                x = "thrown"
            return x
        g = outer()
        print(next(g), g.gi_yieldfrom is not None, g.throw(ValueError))
        """,
    "classes and patterns": """
        class Base:
            def who(self):
                return "base"
        class Own(Base):
            rate: float = 1.5
            def who(self):
                def nested():
                    return super(Own, self).who() + __class__.__name__
                return super().who() + nested()
        def match(x):
            match x:
                case {"a": [1, *rest]} if rest:
                    return rest
                case Own(rate=r):
                    return r
                case _:
                    return None
        print(Own().who(), match({"a": [1, 2]}), match(Own()), match(3))
        print([y for x in range(3)
               if x
               for y in (x, x * 2)], {**{}}, (lambda *a, k=1: a + (k,))(1, 2))
        """,
    "an error at the end": """
        def deep(n):
            assert n, (
                "too deep"
            )
            return deep(n - 1) + sum(
                [1, 2]
            )
        deep(2)
        """,
    "long": "x = 0\n" + "".join(f"if x >= 0:\n    x += {1000 + i}\n" for i in range(400)) + "print(x)\n",
    "long loop": "x = 0\nfor i in range(3):\n"
    + "".join(f"    x += {1000 + i} * i\n" for i in range(400))
    + "print(x)\n",
}


def dedented(name: str) -> str:
    lines = PROGRAMS[name].splitlines()
    return "\n".join(line.removeprefix("        ") for line in lines) + "\n"


def ran(code: types.CodeType) -> str:
    """What a program prints, with the traceback of its end."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(code, {"__name__": "program"})
        except Exception:
            out.write(traceback.format_exc().partition("in ran\n")[2])
    asyncio.set_event_loop_policy(None)
    return out.getvalue()


def traced(code: types.CodeType) -> list[tuple[str, int]]:
    """The events and lines of which a trace function is told."""
    found = []

    def follow(frame: types.FrameType, event: str, _: object) -> object:
        if frame.f_code.co_filename != code.co_filename:
            return None
        found.append((event, frame.f_lineno))
        return follow

    before = sys.gettrace()
    gc.collect()
    gc.disable()
    sys.settrace(follow)
    try:
        ran(code)
    finally:
        sys.settrace(before)
        gc.enable()
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_program_does_stays(name: str, tmp_path: Path) -> None:
    from golden.reach.changed import runnable
    from golden.reach.code import Noting
    from golden.reach.flags import Lines

    path = tmp_path / "program.py"
    path.write_text(dedented(name))
    code = compile(path.read_text(), str(path), "exec")
    lines = Lines(tmp_path / "notes", [2000])
    noting = Noting(lines, {str(path): 0}.get)
    made, other = noting.made(code), noting.made(code)
    known = hash(made)
    assert ran(made) == ran(code)
    noted = {line for line, byte in enumerate(lines.flags[:]) if byte}
    told = traced(code)
    assert noted & runnable(code) == {line for event, line in told if event == "line"} & runnable(code)
    # Whether it notes its lines now or did before, a tracer is told the same.
    assert traced(other) == traced(made) == told
    assert (ran(made), hash(made)) == (ran(code), known)


def test_code_of_other_files_is_the_same_and_what_notes_can_be_pickled(tmp_path: Path) -> None:
    from golden.reach.code import Noting
    from golden.reach.flags import Flags, Lines

    noting = Noting(Lines(tmp_path, [4]), {"a.py": 0}.get)
    other = compile("x = 1\n", "b.py", "exec")
    assert noting.made(other) is other
    made = noting.made(compile("x = 1\n", "a.py", "exec"))
    [flags] = [each for each in made.co_consts if isinstance(each, Flags)]
    pickled = pickle.dumps(flags)
    assert pickle.loads(pickled) is flags
    Lines(tmp_path / "another run", [4])
    assert pickle.loads(pickled) == bytearray(len(flags))


def test_functions_get_their_code_back_before_torch_compiles_them(tmp_path: Path) -> None:
    from golden.reach.code import Noting, before_compiling
    from golden.reach.flags import Flags, Lines

    def notes(code: types.CodeType) -> bool:
        return any(isinstance(each, Flags) for each in code.co_consts)

    noting, told = Noting(Lines(tmp_path, [9]), {"a.py": 0}.get), []
    text = "def f(x=1):\n    def g():\n        return x\n    return g\n"
    names: dict[str, types.FunctionType] = {}
    exec(noting.made(compile(text, "a.py", "exec")), names)
    inner = names["f"]()
    torch = types.SimpleNamespace(compile=lambda function: function.__code__)
    before_compiling(torch, noting, lambda: told.append("traced"))
    assert notes(names["f"].__code__)
    assert notes(inner.__code__)
    assert not notes(torch.compile(names["f"]))
    assert not notes(inner.__code__)
    assert (inner(), names["f"](2)(), told) == (1, 2, ["traced"])
    # What is loaded from now on is left as it is.
    other = compile("y = 1\n", "a.py", "exec")
    assert noting.made(other) is other
