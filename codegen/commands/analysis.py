"""The analysis of a project's files, for the commands that need it, and its errors where it has some."""

from __future__ import annotations

import gc
import sys

from codegen import output, pipeline
from codegen.commands.diagnostics import print_diagnostics
from codegen.paths import Paths
from codegen.pipeline import Result


def analyze(paths: Paths, as_json: bool = False, only_operators: bool = False) -> Result | None:
    """What the files say; None where they have errors, which have been printed then.

    Args:
        paths: of the project.
        as_json: whether errors go to standard output as JSON, and not to standard error.
        only_operators: whether the rules need not be applied to files from which a run has generated.
    """
    gc.disable()  # the trees of a whole YAML have no cycles, and live until the process ends
    checks = not only_operators or not output.is_of_sources(paths, "python")
    result = pipeline.analyze(paths, checks=checks)
    if result.plan is not None:
        return result
    if as_json:
        print_diagnostics(result.diagnostics, sys.stdout, as_json=True)
    else:
        print_diagnostics(result.diagnostics, sys.stderr)
    return None
