"""Starting programs on several processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mpi4py import MPI

PROGRAMS = Path(__file__).parent / "programs"


def start(
    processes: int, program: str, *words: str, timeout: float = 120, through: Sequence[str] = (), **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of this folder under mpiexec; a test fails where that takes longer than `timeout` seconds."""
    return launch(processes, *through, str(PROGRAMS / program), *words, timeout=timeout, **settings)


def launch(
    processes: int, *words: str, timeout: float = 120, folder: Path | None = None, **settings: str
) -> subprocess.CompletedProcess[str]:
    """As `start`, with all words of Python's command line, in a folder."""
    beside = Path(sys.executable).with_name("mpiexec")
    program_of_mpi = str(beside) if beside.exists() else shutil.which("mpiexec")
    assert program_of_mpi is not None, "no mpiexec: pip install mpich"
    mpiexec = [program_of_mpi]
    path = os.pathsep.join([str(PROGRAMS.parents[1]), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **settings}
    if "Open MPI" in MPI.Get_library_version():  # which otherwise starts no more processes than there are cores
        mpiexec = [*mpiexec, "--oversubscribe"]
    command = [*mpiexec, "-n", str(processes), sys.executable, *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, env=environment, check=False, cwd=folder
    )
