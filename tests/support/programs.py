"""Programs in a process of their own, for what is decided when the runtime is loaded."""

from __future__ import annotations

import os
import subprocess
import sys

from support.documents import ROOT


def run(program: str, *arguments: str, **environment: str) -> str:
    """What a program prints that ends well.

    Args:
        program: its text.
        arguments: of its command line.
        environment: variables, besides those of this process.
    """
    finished = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout
