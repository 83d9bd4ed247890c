"""Speed beside PyTorch: `python -m bench`."""

from __future__ import annotations

import os

# How many threads everything that is measured has: 1 where this is not set (`python -m bench --threads` sets it).
THREADS_VARIABLE = "GRADWRIGHT_BENCH_THREADS"
THREADS = int(os.environ.get(THREADS_VARIABLE, "1"))

# The numeric libraries read these when they load, so they are set here: a package's own module runs before the first
# import in any of its modules.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ[_variable] = str(THREADS)
