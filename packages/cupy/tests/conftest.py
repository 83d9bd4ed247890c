"""The stand-in for CuPy comes before anything imports the package."""

from __future__ import annotations

import support_cupy

support_cupy.install()
