"""The settings in `editors/`, in the editors that are installed, without a screen."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.commands.init import make_package
from support.documents import ROOT

SCRIPTS = Path(__file__).parent / "editors"


def run_editor(folder: Path, settings: str, command: list[str]) -> list[str]:
    """Run an editor on a new package; the lines that its script prints.

    Args:
        folder: an empty one.
        settings: the file in `editors/`.
        command: the editor, with its script.
    """
    assert make_package("mylib", folder / "project") == 0
    programs = folder / "bin"
    programs.mkdir()
    server = programs / "gradwright"
    server.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m codegen "$@"\n')
    server.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "GRADWRIGHT_VERIFY": "1",
        "PROJECT": str(folder / "project"),
        "SETTINGS": str(ROOT / "editors" / settings),
        "HOME": str(folder),
        **{f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "STATE", "DATA", "CACHE")},
    }
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, cwd=folder)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    words = ("lens", "root", "problem", "mended", "hover")
    assert "exit code" not in finished.stderr  # of the server, of which Neovim warns
    lines = (finished.stdout + finished.stderr).splitlines()
    return [line.strip() for line in lines if line.strip().startswith(words)]


def has_neovim() -> bool:
    """Whether there is a Neovim that the settings are for."""
    if shutil.which("nvim") is None:
        return False
    text = subprocess.run(["nvim", "--version"], capture_output=True, text=True, check=True).stdout
    version = re.match(r"NVIM v(\d+)\.(\d+)", text)
    return version is not None and (int(version[1]), int(version[2])) >= (0, 11)


def has_eglot() -> bool:
    """Whether there is an Emacs with Eglot."""
    if shutil.which("emacs") is None:
        return False
    command = ["emacs", "--batch", "-f", "package-initialize", "--eval", "(require 'eglot)"]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.skipif(not has_neovim(), reason="there is no Neovim 0.11")
def test_the_settings_of_neovim(tmp_path: Path) -> None:
    command = ["nvim", "--headless", "-c", f"luafile {SCRIPTS / 'neovim.lua'}"]
    assert run_editor(tmp_path, "neovim/gradwright.lua", command) == [
        "lens not proven as it is | saves self, b: 48 bytes for T(3, 4)",
        "root project",
        "problem GW034 sqrtt",
        "mended true",
        "hover sqrt(Tensor self) -> Tensor",
    ]


@pytest.mark.skipif(not has_eglot(), reason="there is no Emacs with Eglot")
def test_the_settings_of_emacs(tmp_path: Path) -> None:
    command = ["emacs", "--batch", "-l", str(SCRIPTS / "emacs.el")]
    assert run_editor(tmp_path, "emacs/gradwright.el", command) == [
        "problem sqrtt",
        "mended true",
        "hover sqrt(Tensor self) -> Tensor",
    ]
