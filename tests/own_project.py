"""The project's own YAML, analyzed: it takes seconds, so a process does it once for all of its tests."""

from __future__ import annotations

import functools

from codegen.paths import project_paths
from codegen.pipeline import Result, analyze


@functools.cache
def own_analysis() -> Result:
    """What the pipeline knows before it emits anything. Tests read it, and change nothing."""
    return analyze(project_paths())
