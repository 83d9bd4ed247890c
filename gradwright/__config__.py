"""What this copy of Gradwright is made of, by the names of `torch.__config__`."""

from __future__ import annotations

import os
import platform

import numpy as np
import scipy

from codegen.version import VERSION
from runtime import native
from runtime.native.threads import get_num_threads


def show() -> str:
    """The libraries that compute, and whether the native core is loaded, a line each."""
    reason = native.why_not()
    core = "loaded" if reason is None else f"not loaded: {reason}"
    lines = (
        f"Gradwright {VERSION} runs on:",
        f"Python {platform.python_version()}",
        f"NumPy {np.__version__}",
        f"SciPy {scipy.__version__}",
        f"native core {core}",
    )
    return "\n  - ".join(lines) + "\n"


def parallel_info() -> str:
    """How many threads operators use, a line each."""
    variables = (f"\t{name} : {os.environ.get(name, '[not set]')}" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"))
    counts = (f"\tget_num_threads() : {get_num_threads()}", f"\tprocessors : {os.cpu_count()}")
    return "\n".join(("Native core:", *counts, "Environment variables:", *variables)) + "\n"
