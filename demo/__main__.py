"""`python -m demo`: generate, check every differentiable operator, train a classifier on real digits."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "demo" / "training.png"
GOAL = 0.95


def heading(console: Console, text: str) -> None:
    if console.is_terminal:
        console.rule(text)
    else:
        print(f"\n== {text}", flush=True)


def main() -> int:
    """Run the three steps; the exit status is 1 if one of them does not hold what it should."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--picture", type=Path, default=PICTURE, metavar="FILE", help="where the picture goes")
    picture = parser.parse_args().picture
    console = Console()
    started = time.perf_counter()

    heading(console, "1. YAML to a library: python -m codegen")
    finished = subprocess.run([sys.executable, "-m", "codegen"], cwd=ROOT)
    if finished.returncode != 0:
        return 1

    heading(console, "2. Every differentiable operator against finite differences")
    # What the first step has just made can be imported only now.
    from demo import checking
    from runtime import native

    results = checking.check_all(console)
    checking.show(results)

    heading(console, "3. A classifier of handwritten digits")
    from demo import training

    history = training.train(console)
    training.plot(history, picture)
    accuracy = history.test_accuracy[-1]
    shown = os.path.relpath(picture)
    print(f"test accuracy {accuracy:.1%} (at least {GOAL:.0%} expected); curves and digits in {shown}")
    if native.core is None:
        print("all of this ran in Python alone; 'make native' compiles the native core, for speed")
    print(f"done in {time.perf_counter() - started:.0f} s")
    return 0 if accuracy >= GOAL and all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
