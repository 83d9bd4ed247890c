"""Tensors, operators and automatic differentiation with PyTorch's names: `import runtime as torch`.

Operators come from the generated code, which is loaded at the end of this file.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

# Kernels meet zero and infinity as PyTorch's do, without warnings.  General calls run under `errstate`; the fast path
# has no time for that, so warnings that NumPy raises from our own modules are filtered, and no others.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(runtime|generated)\.")

from runtime import autograd, linalg, ops, special  # noqa: E402
from runtime.autograd import (  # noqa: E402
    enable_grad,
    inference_mode,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from runtime.base.creation import (  # noqa: E402
    as_tensor,
    asarray,
    from_numpy,
    frombuffer,
    is_complex,
    is_floating_point,
    is_inference,
    is_tensor,
    numel,
    tensor,
)
from runtime.base.dtypes import *  # noqa: E402, F403
from runtime.base.later import load_later as _load_later  # noqa: E402
from runtime.base.later import load_the_rest_later as _load_the_rest_later  # noqa: E402
from runtime.base.tags import Tag  # noqa: E402
from runtime.base.tensor import Tensor  # noqa: E402
from runtime.base.types import *  # noqa: E402, F403
from runtime.batches import vmap  # noqa: E402
from runtime.functional import (  # noqa: E402
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_tensors,
    einsum,
    meshgrid,
    nonzero,
    norm,
    tensordot,
)
from runtime.load.loading import load as _load  # noqa: E402
from runtime.load.loading import public_names as _public_names  # noqa: E402
from runtime.methods.print_options import get_printoptions, printoptions, set_printoptions  # noqa: E402
from runtime.native.reserve import get_memory_reserve, reserved_memory, set_memory_reserve  # noqa: E402
from runtime.native.threads import get_num_threads, set_num_threads  # noqa: E402
from runtime.random import (  # noqa: E402
    Generator,
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

if TYPE_CHECKING:
    from generated.packets import *  # type: ignore[assignment]  # noqa: F403

__version__ = "0.1.0"

_load("generated", sys.modules[__name__])

# Modules that not every program uses are loaded on first access.
if TYPE_CHECKING:
    from runtime import func, library, nn, optim, profiler, utils
else:
    _load_later(__name__, ("func", "library", "nn", "optim", "profiler", "utils"))
    __all__ = _public_names(sys.modules[__name__])  # not written out: an operator may be called `vars`
_load_the_rest_later("runtime", "generated", "codegen")
