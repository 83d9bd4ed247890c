"""PyTorch's own derivative formulas on this runtime: `make upstream`.

Generates from the YAML of the installed torchgen, unmodified, with the project's kernels and helpers; writes the report
on those formulas; and runs the comparisons with PyTorch on what was generated.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "docs/upstream-report.md"
# These are about the generator, or generate for themselves.
LEFT_OUT = ("tests/parity/test_upstream.py", "tests/parity/test_pipeline_on_pytorch.py")


def main(words: Sequence[str]) -> int:
    """Run it all; `words` go to pytest."""
    specification = importlib.util.find_spec("torchgen")
    if specification is None or specification.origin is None:
        print("make upstream needs the torch package: pip install -e '.[parity]'", file=sys.stderr)
        return 2
    packaged = Path(specification.origin).parent / "packaged"
    native = packaged / "ATen/native"
    inputs = ["--native-functions", native / "native_functions.yaml", "--tags", native / "tags.yaml"]
    inputs += ["--derivatives", packaged / "autograd/derivatives.yaml"]
    with tempfile.TemporaryDirectory() as folder:
        codegen = [sys.executable, "-m", "codegen"]
        subprocess.run([*codegen, *map(str, inputs), "--out", folder], cwd=ROOT, check=True)
        missing = [*codegen, "list", "--missing", *map(str, inputs)]
        subprocess.run(missing, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        report = subprocess.run([*codegen, "report", *map(str, inputs)], cwd=ROOT, check=True, capture_output=True)
        REPORT.write_bytes(report.stdout)
        print(f"report written to {REPORT.relative_to(ROOT)}", flush=True)
        tests = ["tests/parity", *(f"--ignore={path}" for path in LEFT_OUT)]
        environment = {**os.environ, "GRADWRIGHT_GENERATED": folder}
        done = subprocess.run([sys.executable, "-m", "pytest", *tests, *words], cwd=ROOT, env=environment, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
