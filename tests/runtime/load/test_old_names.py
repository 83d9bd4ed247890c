"""PyTorch's names under the package `runtime`, where they were: they work, and say once where they are now."""

from __future__ import annotations

import os
import subprocess
import sys

from support.documents import ROOT


def run(script: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONWARNINGS": "always::DeprecationWarning:__main__"}
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_names_are_those_of_the_library_and_one_warning_says_so() -> None:
    script = """if True:
        import runtime as torch
        import gradwright
        print(torch.tensor([1.0]).dtype, torch.nn is gradwright.nn, torch.add is gradwright.add)
        import runtime.nn.functional as F
        from runtime.optim import SGD
        print(F is gradwright.nn.functional, SGD is gradwright.optim.SGD)
    """
    done = run(script)
    assert done.stdout == "gradwright.float32 True True\nTrue True\n", done.stderr
    assert done.stderr.count("PyTorch's names are in the package 'gradwright'") == 1


def test_parts_of_the_engine_say_nothing() -> None:
    done = run("import runtime.base.tensor; from runtime import ops, native; import generated; print(ops.sin)")
    assert (done.returncode, done.stderr) == (0, "")


def test_names_that_are_nowhere_are_errors() -> None:
    script = """if True:
        import runtime
        for use in (lambda: runtime.nothing, lambda: __import__("runtime.nothing")):
            try:
                use()
            except (AttributeError, ImportError) as error:
                print(error)
    """
    done = run(script)
    assert done.stdout == "module 'runtime' has no attribute 'nothing'\nNo module named 'runtime.nothing'\n"
