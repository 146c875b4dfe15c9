"""Projects to check: folders with files, and git repositories."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from codemods.hotpath import main


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with a `pyproject.toml`, and the command run in it."""

    root: Path

    def write(self, **files: str) -> None:
        """Write modules by name; two underscores are a slash."""
        for name, text in files.items():
            path = self.root / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text).lstrip("\n"))

    def configure(self, text: str) -> None:
        """Write the configuration's table."""
        (self.root / "pyproject.toml").write_text(f"[tool.codemods.hotpath]\n{dedent(text)}")

    def run(self, *arguments: str) -> int:
        """The command's exit status."""
        return main([str(self.root), *arguments])

    def git(self, *arguments: str) -> None:
        """Run git in the project."""
        identity = ["-c", "user.name=tester", "-c", "user.email=tester@example.invalid"]
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True, capture_output=True)

    def commit(self) -> None:
        """Commit everything."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").write_text("")
    return Project(root)


@pytest.fixture
def repository(project: Project) -> Project:
    """The same as a git repository with a trainer: a loop over envs, a helper, one known stall."""
    project.git("init", "-q", "-b", "main")
    project.write(
        train="""
        import torch


        def step(env_state, loss: torch.Tensor):
            env_state.losses.append(loss.detach())


        def train(env_states, losses: torch.Tensor):
            for env_idx, env_state in enumerate(env_states):
                step(env_state, losses[env_idx])
                print(losses[env_idx].item())
        """
    )
    project.commit()
    return project


Check = Callable[..., int]
