"""Builds the site: `python -m tools.site` writes build/site/html; warnings are errors.

The sources are put together in build/site/source first: the pages of docs/ as they are, the start page, and what is
made of the plan of the generator and of the runtime.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.site.checks import problems
from tools.site.sources import ROOT, write_sources


def main(argv: Sequence[str] | None = None) -> int:
    """Build, and return the exit status: that of sphinx."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site", help="the folder (build/site)")
    parser.add_argument("--jobs", default="2", help="processes of sphinx (2)")
    arguments = parser.parse_args(argv)
    try:
        from sphinx.cmd.build import build_main
    except ImportError:
        parser.error("sphinx is not here: pip install -e '.[docs]'")
    started = time.perf_counter()
    source, html = arguments.output / "source", arguments.output / "html"
    pages = write_sources(source)
    print(f"{pages} pages put together in {time.perf_counter() - started:.1f} s", flush=True)
    shutil.rmtree(html, ignore_errors=True)
    folders = [str(source), str(html)]
    options = ["-b", "html", "-c", str(Path(__file__).parent), "-d", str(arguments.output / "doctrees")]
    status = build_main([*options, "-W", "--keep-going", "-q", "-j", arguments.jobs, *folders])
    found = list(problems(html)) if status == 0 else []
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    if status == 0:
        print(f"{html / 'index.html'} in {time.perf_counter() - started:.1f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
