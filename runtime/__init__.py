"""Tensors, operators and automatic differentiation with PyTorch's names: `import runtime as torch`.

Operators come from the generated code, which is loaded last.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

# Kernels meet zero and infinity as PyTorch's do, without warnings.  General calls run under `errstate`; the fast path
# has no time for that, so warnings that NumPy raises from our own modules are filtered, and no others.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(runtime|generated)\.")

from codegen.version import VERSION as _VERSION  # noqa: E402
from runtime.base.later import load_later as _load_later  # noqa: E402
from runtime.base.later import load_the_rest_later as _load_the_rest_later  # noqa: E402
from runtime.load.collector import paused as _collector_paused  # noqa: E402

# Modules that not every program uses are loaded on first access.
if TYPE_CHECKING:
    from runtime import (
        _C,
        accelerator,
        autograd,
        compiler,
        cpu,
        cuda,
        distributed,
        distributions,
        func,
        fx,
        jit,
        library,
        masked,
        mps,
        mtia,
        nn,
        optim,
        overrides,
        profiler,
        return_types,
        serialization,
        signal,
        sparse,
        storage,
        testing,
        types,
        utils,
        version,
        xpu,
    )
else:
    _LATER = (
        "_C accelerator autograd compiler cpu cuda distributed distributions func fx jit library masked mps mtia nn "
        "optim overrides profiler return_types serialization signal sparse storage testing types utils version xpu"
    )
    _load_later(__name__, _LATER.split())

with _collector_paused():
    from runtime import fft, linalg, ops, random, special
    from runtime.amp.autocast_mode import autocast
    from runtime.amp.casting import *  # noqa: F403
    from runtime.amp.deprecated import *  # noqa: F403
    from runtime.amp.grad_scaler import GradScaler
    from runtime.amp.state import *  # noqa: F403
    from runtime.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
    from runtime.autograd.grad_mode import (
        enable_grad,
        inference_mode,
        is_grad_enabled,
        is_inference_mode_enabled,
        no_grad,
        set_grad_enabled,
    )
    from runtime.base.creation import (
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
    from runtime.base.dtypes import *  # noqa: F403
    from runtime.base.errors import AcceleratorError, OutOfMemoryError
    from runtime.base.overriding import DisableTorchFunction, DisableTorchFunctionSubclass
    from runtime.base.storage import TypedStorage, UntypedStorage
    from runtime.base.tags import Tag
    from runtime.base.tensor import Tensor
    from runtime.base.typed_storages import *  # noqa: F403
    from runtime.base.types import *  # noqa: F403
    from runtime.batches import vmap
    from runtime.conditional import cond
    from runtime.files import from_dlpack, from_file, load, save
    from runtime.functional import (
        _assert,
        _segment_reduce,
        atleast_1d,
        atleast_2d,
        atleast_3d,
        block_diag,
        broadcast_shapes,
        broadcast_tensors,
        cartesian_prod,
        cdist,
        dequantize,
        detach,
        detach_,
        dsmm,
        einsum,
        get_device,
        histogramdd,
        is_conj,
        is_distributed,
        is_neg,
        is_signed,
        lu,
        meshgrid,
        nonzero,
        norm,
        spmm,
        stft,
        tensordot,
        unique,
        unique_consecutive,
        unravel_index,
    )
    from runtime.futures import Future, fork, wait
    from runtime.legacy import *  # noqa: F403
    from runtime.load.loading import load as _load
    from runtime.load.loading import public_names as _public_names
    from runtime.lowrank import pca_lowrank, svd_lowrank
    from runtime.methods.print_options import get_printoptions, printoptions, set_printoptions
    from runtime.methods.removed import eig, lstsq, solve, symeig
    from runtime.methods.storage import resize_as_
    from runtime.native.reserve import get_memory_reserve, reserved_memory, set_memory_reserve
    from runtime.native.threads import get_num_threads, set_num_threads
    from runtime.other_devices import *  # noqa: F403
    from runtime.random import (
        Generator,
        default_generator,
        fork_rng,
        get_rng_state,
        initial_seed,
        manual_seed,
        seed,
        set_rng_state,
        thread_safe_generator,
    )
    from runtime.settings import *  # noqa: F403
    from runtime.sparse_functions import *  # noqa: F403
    from runtime.symbols import *  # noqa: F403

    _load("generated", sys.modules[__name__])

if TYPE_CHECKING:
    from generated.packets import *  # type: ignore[assignment, no-redef]  # noqa: F403

__version__ = _VERSION

if not TYPE_CHECKING:
    __all__ = _public_names(sys.modules[__name__])  # not written out: an operator may be called `vars`
_load_the_rest_later("runtime", "generated", "codegen")
