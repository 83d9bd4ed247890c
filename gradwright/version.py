"""What was built with what: no CUDA, no ROCm, no XPU."""

from __future__ import annotations

from codegen.version import VERSION

__version__ = VERSION
debug = False
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
git_version: str | None = None
