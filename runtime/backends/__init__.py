"""Tensors on devices that packages bring, see `docs/backend.md`; and what PyTorch keeps under this name: flags of
libraries, most of which are not there.
"""

from __future__ import annotations

from runtime.base.later import load_later

load_later(__name__, ("cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"))
