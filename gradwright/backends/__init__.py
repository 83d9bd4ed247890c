"""What PyTorch keeps under this name: flags of libraries, most of which are not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.base.lazy import load_lazily

if TYPE_CHECKING:
    from gradwright.backends import cpu as cpu
    from gradwright.backends import cuda as cuda
    from gradwright.backends import cudnn as cudnn
    from gradwright.backends import mkl as mkl
    from gradwright.backends import mkldnn as mkldnn
    from gradwright.backends import mps as mps
    from gradwright.backends import openmp as openmp
    from gradwright.backends import opt_einsum as opt_einsum

load_lazily(__name__, ("cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"))
