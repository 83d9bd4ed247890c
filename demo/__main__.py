"""`python -m demo`: generate, check every differentiable operator, train a classifier on real digits."""

from __future__ import annotations

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
    console = Console()
    started = time.perf_counter()

    heading(console, "1. YAML to a library: python -m codegen")
    finished = subprocess.run([sys.executable, "-m", "codegen"], cwd=ROOT)
    if finished.returncode != 0:
        return 1

    heading(console, "2. Every differentiable operator against finite differences")
    # What the first step has just made can be imported only now.
    from demo import checking

    results = checking.check_all(console)
    checking.show(console, results)

    heading(console, "3. A classifier of handwritten digits")
    from demo import training

    history = training.train(console)
    training.plot(history, PICTURE)
    accuracy = history.test_accuracy[-1]
    print(f"test accuracy {accuracy:.1%} (at least {GOAL:.0%} expected); curves in {PICTURE.relative_to(ROOT)}")
    print(f"done in {time.perf_counter() - started:.0f} s")
    return 0 if accuracy >= GOAL and all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
