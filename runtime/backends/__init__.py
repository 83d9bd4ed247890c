"""Tensors on devices that packages bring, see `docs/backend.md`; and what PyTorch keeps under this name: flags of
libraries, most of which are not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.base.lazy import load_lazily

if TYPE_CHECKING:
    from runtime.backends import cpu as cpu
    from runtime.backends import cuda as cuda
    from runtime.backends import cudnn as cudnn
    from runtime.backends import mkl as mkl
    from runtime.backends import mkldnn as mkldnn
    from runtime.backends import mps as mps
    from runtime.backends import openmp as openmp
    from runtime.backends import opt_einsum as opt_einsum

load_lazily(__name__, ("cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"))
