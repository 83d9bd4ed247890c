"""Tensors, operators and automatic differentiation with PyTorch's names: `import runtime as torch`.

Operators come from the generated code, which is loaded at the end of this file.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType
from typing import TYPE_CHECKING

# Kernels meet zero and infinity as PyTorch's do, without a word.  General calls run under `errstate`; the straight way
# has no time for that, so warnings that NumPy raises from our own modules are filtered, and nobody else's.
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
from runtime.creation import (  # noqa: E402
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
from runtime.dtypes import *  # noqa: E402, F403
from runtime.functional import (  # noqa: E402
    broadcast_tensors,
    einsum,
    meshgrid,
    nonzero,
    norm,
    tensordot,
)
from runtime.loading import load as _load  # noqa: E402
from runtime.printing import get_printoptions, printoptions, set_printoptions  # noqa: E402
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
from runtime.tensor import Tensor  # noqa: E402
from runtime.threads import get_num_threads, set_num_threads  # noqa: E402
from runtime.types import *  # noqa: E402, F403

if TYPE_CHECKING:
    from generated.packets import *  # type: ignore[assignment]  # noqa: F403

__version__ = "0.1.0"

_load("generated", sys.modules[__name__])

from runtime import func, nn, optim, utils  # noqa: E402
from runtime.func import vmap  # noqa: E402

if TYPE_CHECKING:
    from runtime import library, profiler
    from runtime.library.tags import Tag
else:

    def __getattr__(name: str) -> object:
        # What few programs use is loaded on first use.
        if name in ("library", "profiler"):
            return importlib.import_module(f"runtime.{name}")
        if name == "Tag":
            return importlib.import_module("runtime.library.tags").Tag
        raise AttributeError(f"module 'runtime' has no attribute '{name}'")
