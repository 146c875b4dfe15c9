"""Every code's two examples do what they say, and `--explain` tells about it."""

from pathlib import Path

import pytest

from codemods.hotpath import main
from codemods.hotpath.codes import CODES, DEFAULT_OFF, Code
from codemods.hotpath.config import Config
from codemods.hotpath.engine import analyse
from codemods.hotpath.trees import File
from tests.codemods.hotpath.corpus import HEADER

SETTING = """
def run(model: nn.Module, x: Tensor, y: Tensor, values: list[float], n_envs: int, device: torch.device,
        event: torch.cuda.Event, stream: torch.cuda.Stream, writer, path, rows: list):
    total = 0
    for env_idx in range(n_envs):
"""
STALLS = [code for code in CODES.values() if code.code < "HP900"]
COMMENTS = [CODES["HP900"], CODES["HP901"]]


def found(example: str) -> set[str]:
    body = "".join(f"        {line}\n" for line in example.splitlines())
    file = File("example.py", f"{HEADER}{SETTING}{body}    return total\n".encode(), "example", False)
    return {finding.code for finding in analyse([file], Config(select=tuple(DEFAULT_OFF))).findings}


@pytest.mark.parametrize("code", [*STALLS, *COMMENTS], ids=lambda code: code.code)
def test_flagged_example_is_flagged(code: Code) -> None:
    assert code.code in found(code.flagged)


@pytest.mark.parametrize("code", [*STALLS, *COMMENTS], ids=lambda code: code.code)
def test_fine_example_is_not(code: Code) -> None:
    assert found(code.fine) == set()


@pytest.mark.parametrize("code", sorted(DEFAULT_OFF))
def test_off_by_default(code: str) -> None:
    assert code not in Config().reported
    assert code in Config(select=(code,)).reported


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.code)
def test_explain(code: Code, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--explain", code.code.lower()]) == 0
    out = capsys.readouterr().out
    for part in (
        code.code,
        code.title,
        code.why,
        code.ways_out,
        code.flagged.splitlines()[0],
        code.fine.splitlines()[0],
    ):
        assert part in out


def test_the_way_out_fits_the_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = "import torch\ndef train(model, loader):\n    for x in loader:\n        print(model(x).item())\n"
    envs = steps.replace("for x in loader", "for env_idx in range(4)").replace("model(x)", "model(env_idx)")
    for text, out in ((steps, CODES["HP001"].per_step), (envs, CODES["HP001"].instead)):
        (tmp_path / "train.py").write_text(text)
        assert main([str(tmp_path), "--root", str(tmp_path)]) == 1
        assert f"= instead: {out}\n" in capsys.readouterr().out
    in_steps = [code.per_step or code.instead for code in CODES.values() if not code.code.startswith("HP9")]
    assert not any("environment" in text or "fence" in text for text in in_steps)


def test_explain_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--explain", "HP999"]) == 2
    assert "no code HP999; known are HP001" in capsys.readouterr().err
