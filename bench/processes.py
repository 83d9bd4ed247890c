"""Workloads that are whole processes: an import, and runs of generators."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import THREADS_VARIABLE
from bench.measure import Bytes, Round
from codegen.ranks import processors

ROOT = Path(__file__).resolve().parent.parent
MPI_PACKAGE = ROOT / "packages" / "mpi"

Prepare = Callable[[Any, object], Round]  # of a library and a scale, which makes no difference here


def _environment() -> dict[str, str]:
    """The environment of a measured process: one in which Python caches bytecode."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def import_time(library: Any, scale: object) -> Round:
    """Import in a fresh interpreter, timed inside it, so that the interpreter's own start does not count.

    With bytecode cached, as an installed package has it: the first import, which compiles, is the warm-up round.
    """
    program = f"import time; t = time.perf_counter(); import {library.__name__}; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", program]

    def run() -> dict[str, float]:
        finished = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=True)
        return {"import": float(finished.stdout)}

    return run


# Starts a command and writes what it used.  A process of its own, because Linux counts what the one that forks has in
# memory as the child's: here that is next to nothing, in this process all of PyTorch.
_LAUNCHER = """\
import os, sys
process = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(process, 0)
with open(sys.argv[1], "w") as file:
    print(used.ru_utime + used.ru_stime, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024), file=file)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def process(row: str, command: list[str], output: Path) -> Round:
    """CPU seconds and peak memory of a command.

    CPU seconds, because what a file system or a neighbour adds is no property of a generator.  `output` is removed
    first, because a generator that finds it there has nothing to do.
    """
    report = output.with_name(f"{output.name}.used")

    def run() -> dict[str, float]:
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir(parents=True)
        launched = [sys.executable, "-c", _LAUNCHER, str(report), *command]
        finished = subprocess.run(launched, env=_environment(), capture_output=True, text=True)
        if finished.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed:\n{finished.stdout}{finished.stderr}")
        seconds, peak = report.read_text(encoding="utf-8").split()
        return {row: float(seconds), f"{row}: peak memory": Bytes(peak)}

    return run


def data_parallel(processes: int) -> Callable[[Any, Any], Round]:
    """A step of training on a batch of which each process has its part, one thread each."""

    def prepare(library: Any, scale: Any) -> Round:
        command = [sys.executable, "-m", "bench.data_parallel"]
        command += ["--width", str(scale.large_width), "--batch", str(scale.large_batch)]
        command += ["--steps", str(scale.small_steps // 2)]
        if processes > 1:
            command = [str(_mpiexec()), "-n", str(processes), *command]
        path = os.pathsep.join([str(ROOT), str(MPI_PACKAGE)])
        environment = {**_environment(), "PYTHONPATH": path, THREADS_VARIABLE: "1"}

        def run() -> dict[str, float]:
            finished = subprocess.run(command, env=environment, capture_output=True, text=True)
            if finished.returncode != 0:
                raise RuntimeError(f"{' '.join(command)} failed:\n{finished.stdout}{finished.stderr}")
            return {"step on 2 processes, beside it on 1": json.loads(finished.stdout)["step"]}

        return run

    return prepare


def _mpiexec() -> str | None:
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def why_no_mpi() -> str | None:
    """Why several processes can not be measured here, None where they can."""
    if importlib.util.find_spec("mpi4py") is None or _mpiexec() is None:
        return "there is no MPI: make mpi installs one"
    if not (MPI_PACKAGE / "gradwright_mpi" / "_generated").is_dir():
        return "packages/mpi is not generated: make mpi does it"
    return None if processors() > 1 else "there is one core"


def codegen_own(out: Path) -> Prepare:
    """Gradwright's own YAML to its library."""

    def prepare(library: Any, scale: object) -> Round:
        return process(
            "codegen, Gradwright's YAML",
            [sys.executable, "-m", "codegen", "--target", "python", "--out", str(out)],
            out,
        )

    return prepare


def codegen_whole(out: Path) -> tuple[Prepare, Prepare]:
    """PyTorch's whole YAML: Gradwright beside PyTorch's own gen_autograd."""
    row = "codegen, PyTorch's whole YAML"

    def packaged(library: Any) -> Path:
        import torchgen

        return Path(str(torchgen.__file__)).parent / "packaged"

    def ours(library: Any, scale: object) -> Round:
        folder = packaged(library)
        command = [sys.executable, "-m", "codegen", "--target", "python", "--out", str(out)]
        command += ["--native-functions", str(folder / "ATen/native/native_functions.yaml")]
        command += ["--derivatives", str(folder / "autograd/derivatives.yaml")]
        command += ["--tags", str(folder / "ATen/native/tags.yaml")]
        return process(row, command, out)

    def theirs(library: Any, scale: object) -> Round:
        folder = packaged(library)
        native = folder / "ATen/native"
        written = out.with_name("gen_autograd")
        command = [sys.executable, "-m", "torchgen.packaged.autograd.gen_autograd"]
        command += [
            str(native / "native_functions.yaml"),
            str(native / "tags.yaml"),
            str(written),
            str(folder / "autograd"),
        ]
        return process(row, command, written)

    return ours, theirs
