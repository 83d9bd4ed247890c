"""`make times`: how long Gradwright takes from nothing: to generate, to compile, to test, and from an edit to a run.

Everything runs in a clone of the last commit, with nothing cached. CPU seconds are those of all processes together.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_FORMULA = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()"
_KERNEL = "runtime/operators/kernels/softmax.cpp"
_RUN = """
import gradwright
x = gradwright.zeros(3).requires_grad_()
{call}.sum().backward()
assert x.grad[0] == {grad}
"""
# What would give something that was cached.
_CACHES = ("CCACHE_", "CMAKE_", "PYTHON")


class Clone:
    """A clone of the last commit, in which commands run with nothing cached; it prints a row for each figure."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = str(folder / ".venv/bin/python")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_CACHES)}
        self._environment = {**kept, "CCACHE_DISABLE": "1"}
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)

    def run(self, *command: str) -> tuple[float, float]:
        """The seconds on the clock, and of CPU, that a command takes.

        Raises:
            subprocess.CalledProcessError: it failed; what it printed stands above.
        """
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        finished = subprocess.run(command, cwd=self.folder, env=self._environment, capture_output=True, text=True)
        wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        if finished.returncode != 0:
            print(finished.stdout, finished.stderr, sep="")
            finished.check_returncode()
        self.printed = finished.stdout
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def generate(self, *options: str) -> tuple[float, float]:
        return self.run(self.python, "-m", "codegen", *options)

    @contextmanager
    def edited(self, name: str, text: str) -> Iterator[None]:
        """The file with another text."""
        path = self.folder / name
        before = path.read_text(encoding="utf-8")
        path.write_text(text, encoding="utf-8")
        yield
        path.write_text(before, encoding="utf-8")

    def until_it_runs(self, call: str, grad: int) -> float:
        """Seconds on the clock to generate, to build, and to run a call and its gradient."""
        program = _RUN.format(call=call, grad=grad)
        steps = (("-m", "codegen", "--no-verify"), ("-m", "codegen", "build", "--no-verify"), ("-c", program))
        return sum(self.run(self.python, *step)[0] for step in steps)


def row(what: str, value: float, unit: str, most: float) -> None:
    """Print a figure beside its bound."""
    takes, at_most = (f"{number:.3g} {unit}".rstrip() for number in (value, most))
    print(f"| {what} | {takes} | {at_most} |", flush=True)


def main() -> None:
    """Measure everything, and print a table."""
    with tempfile.TemporaryDirectory() as temporary:
        clone = Clone(Path(temporary) / "clone")
        clone.run("make", ".venv/.installed-test", ".venv/.installed-demo", ".venv/.installed-bench")
        print("| what | takes | at most |\n|---|---|---|")
        row("`python -m codegen` on the project's own YAML, nothing cached, CPU", clone.generate()[1], "s", 3)
        clone.run("make", "clean")
        row("`make demo`", clone.run("make", "demo")[0], "s", 60)
        row("the native core, CPU", clone.generate("build")[1], "s", 300)
        size = next(clone.folder.glob("generated/_native*")).stat().st_size
        row("size of the module", size / 1e6, "MB", 8)
        yaml = (clone.folder / "derivatives.yaml").read_text(encoding="utf-8")
        with clone.edited("derivatives.yaml", yaml.replace(_FORMULA, f"{_FORMULA} * 2")):
            row("one formula edited, until its native Node runs", clone.until_it_runs("x.sin()", 2), "s", 5)
        kernel = (clone.folder / _KERNEL).read_text(encoding="utf-8")
        clone.until_it_runs("x.sin()", 1)
        with clone.edited(_KERNEL, f"{kernel}\n// Edited.\n"):
            row("one operator's C++ kernel edited, likewise", clone.until_it_runs("x.softmax(0)", 0), "s", 15)
        clone.run(clone.python, "-m", "bench", "--rows", "codegen", "--json")
        ratios = [each["ratio"] for each in json.loads(clone.printed)["rows"] if each["ratio"] is not None]
        row("the same on PyTorch's YAML, against PyTorch's gen_autograd", ratios[0], "", 0.3)
        clone.run("make", "clean")
        row("`make test`, compiling included", clone.run("make", "test")[0] / 60, "min", 12)


if __name__ == "__main__":
    main()
