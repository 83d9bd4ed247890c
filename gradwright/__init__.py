"""Tensors, operators and automatic differentiation with PyTorch's names: `import gradwright as torch`.

Operators come from the generated code, which is loaded last.
"""

from __future__ import annotations

import sys as _sys
from typing import TYPE_CHECKING

from codegen.version import VERSION as _VERSION
from gradwright.names import first_name as _first_name
from runtime.base.aliases import AliasFinder as _AliasFinder
from runtime.base.lazy import load_lazily as _load_lazily
from runtime.base.lazy import load_the_rest_lazily as _load_the_rest_lazily
from runtime.load.collector import paused as _collector_paused

# Before what looks into folders: it would load a module of an aliased package once more, under the second name.
_sys.meta_path.insert(0, _AliasFinder(_first_name))

# Modules that not every program uses are loaded on first access.
if TYPE_CHECKING:
    from gradwright import _C as _C
    from gradwright import __config__ as __config__
    from gradwright import accelerator as accelerator
    from gradwright import amp as amp
    from gradwright import autograd as autograd
    from gradwright import backends as backends
    from gradwright import compiler as compiler
    from gradwright import cpu as cpu
    from gradwright import cuda as cuda
    from gradwright import distributed as distributed
    from gradwright import distributions as distributions
    from gradwright import func as func
    from gradwright import fx as fx
    from gradwright import jit as jit
    from gradwright import library as library
    from gradwright import masked as masked
    from gradwright import mps as mps
    from gradwright import mtia as mtia
    from gradwright import native as native
    from gradwright import nn as nn
    from gradwright import optim as optim
    from gradwright import overrides as overrides
    from gradwright import profiler as profiler
    from gradwright import return_types as return_types
    from gradwright import serialization as serialization
    from gradwright import signal as signal
    from gradwright import storage as storage
    from gradwright import testing as testing
    from gradwright import types as types
    from gradwright import utils as utils
    from gradwright import version as version
    from gradwright import xpu as xpu
else:
    _LAZY = (
        "_C __config__ accelerator autograd backends compiler cpu cuda distributed distributions func fx jit library "
        "masked mps mtia native nn optim overrides profiler return_types serialization signal storage testing types "
        "utils version xpu"
    )
    _load_lazily(__name__, _LAZY.split())

with _collector_paused():
    from gradwright import fft as fft
    from gradwright import linalg as linalg
    from gradwright import special as special
    from gradwright.amp.autocast_mode import autocast as autocast
    from gradwright.amp.casting import *  # noqa: F403
    from gradwright.amp.deprecated import *  # noqa: F403
    from gradwright.amp.grad_scaler import GradScaler as GradScaler
    from gradwright.amp.state import *  # noqa: F403
    from gradwright.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
    from gradwright.anomaly import is_anomaly_enabled as is_anomaly_enabled
    from gradwright.anomaly import set_anomaly_enabled as set_anomaly_enabled
    from gradwright.batches import vmap as vmap
    from gradwright.conditional import cond as cond
    from gradwright.files import from_dlpack as from_dlpack
    from gradwright.files import from_file as from_file
    from gradwright.files import load as load
    from gradwright.files import save as save
    from gradwright.futures import Future as Future
    from gradwright.futures import fork as fork
    from gradwright.futures import wait as wait
    from gradwright.lowrank import pca_lowrank as pca_lowrank
    from gradwright.lowrank import svd_lowrank as svd_lowrank
    from gradwright.other_devices import *  # noqa: F403
    from gradwright.publishing import public_names as _public_names
    from gradwright.publishing import publish as _publish
    from gradwright.removed import eig as eig
    from gradwright.removed import lstsq as lstsq
    from gradwright.removed import solve as solve
    from gradwright.removed import symeig as symeig
    from gradwright.settings import *  # noqa: F403
    from gradwright.storage_types import *  # noqa: F403
    from gradwright.symbols import *  # noqa: F403
    from gradwright.tensor_methods import install_methods as _install_methods
    from gradwright.tensor_types import *  # noqa: F403
    from runtime import ops as ops
    from runtime import random as random
    from runtime.base.creation import as_tensor as as_tensor
    from runtime.base.creation import asarray as asarray
    from runtime.base.creation import from_numpy as from_numpy
    from runtime.base.creation import frombuffer as frombuffer
    from runtime.base.creation import is_complex as is_complex
    from runtime.base.creation import is_floating_point as is_floating_point
    from runtime.base.creation import is_inference as is_inference
    from runtime.base.creation import is_tensor as is_tensor
    from runtime.base.creation import numel as numel
    from runtime.base.creation import tensor as tensor
    from runtime.base.dtypes import *  # noqa: F403
    from runtime.base.errors import AcceleratorError as AcceleratorError
    from runtime.base.errors import OutOfMemoryError as OutOfMemoryError
    from runtime.base.overriding import DisableTorchFunction as DisableTorchFunction
    from runtime.base.overriding import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
    from runtime.base.storage import TypedStorage as TypedStorage
    from runtime.base.storage import UntypedStorage as UntypedStorage
    from runtime.base.tags import Tag as Tag
    from runtime.base.tensor import Tensor as Tensor
    from runtime.base.types import *  # noqa: F403
    from runtime.graph.grad_mode import enable_grad as enable_grad
    from runtime.graph.grad_mode import inference_mode as inference_mode
    from runtime.graph.grad_mode import is_grad_enabled as is_grad_enabled
    from runtime.graph.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
    from runtime.graph.grad_mode import no_grad as no_grad
    from runtime.graph.grad_mode import set_grad_enabled as set_grad_enabled
    from runtime.load.loading import import_generated as _import_generated
    from runtime.methods.print_options import get_printoptions as get_printoptions
    from runtime.methods.print_options import printoptions as printoptions
    from runtime.methods.print_options import set_printoptions as set_printoptions
    from runtime.methods.storage import resize_as_ as resize_as_
    from runtime.native.reserve import get_memory_reserve as get_memory_reserve
    from runtime.native.reserve import reserved_memory as reserved_memory
    from runtime.native.reserve import set_memory_reserve as set_memory_reserve
    from runtime.native.threads import get_num_threads as get_num_threads
    from runtime.native.threads import set_num_threads as set_num_threads
    from runtime.operators import functional as functional
    from runtime.operators import sparse as sparse
    from runtime.operators.functional import _assert as _assert
    from runtime.operators.functional import _segment_reduce as _segment_reduce
    from runtime.operators.functional import atleast_1d as atleast_1d
    from runtime.operators.functional import atleast_2d as atleast_2d
    from runtime.operators.functional import atleast_3d as atleast_3d
    from runtime.operators.functional import block_diag as block_diag
    from runtime.operators.functional import broadcast_shapes as broadcast_shapes
    from runtime.operators.functional import broadcast_tensors as broadcast_tensors
    from runtime.operators.functional import cartesian_prod as cartesian_prod
    from runtime.operators.functional import cdist as cdist
    from runtime.operators.functional import dequantize as dequantize
    from runtime.operators.functional import detach as detach
    from runtime.operators.functional import detach_ as detach_
    from runtime.operators.functional import dsmm as dsmm
    from runtime.operators.functional import einsum as einsum
    from runtime.operators.functional import get_device as get_device
    from runtime.operators.functional import histogramdd as histogramdd
    from runtime.operators.functional import is_conj as is_conj
    from runtime.operators.functional import is_distributed as is_distributed
    from runtime.operators.functional import is_neg as is_neg
    from runtime.operators.functional import is_signed as is_signed
    from runtime.operators.functional import lu as lu
    from runtime.operators.functional import meshgrid as meshgrid
    from runtime.operators.functional import nonzero as nonzero
    from runtime.operators.functional import norm as norm
    from runtime.operators.functional import spmm as spmm
    from runtime.operators.functional import stft as stft
    from runtime.operators.functional import tensordot as tensordot
    from runtime.operators.functional import unique as unique
    from runtime.operators.functional import unique_consecutive as unique_consecutive
    from runtime.operators.functional import unravel_index as unravel_index
    from runtime.operators.sparse_functions import *  # noqa: F403
    from runtime.random import Generator as Generator
    from runtime.random import default_generator as default_generator
    from runtime.random import fork_rng as fork_rng
    from runtime.random import get_rng_state as get_rng_state
    from runtime.random import initial_seed as initial_seed
    from runtime.random import manual_seed as manual_seed
    from runtime.random import seed as seed
    from runtime.random import set_rng_state as set_rng_state
    from runtime.random import thread_safe_generator as thread_safe_generator

    _publish(_import_generated(), _sys.modules[__name__])
    _install_methods()

if TYPE_CHECKING:
    import codegen as codegen
    from generated._functions import *  # noqa: F403

__version__ = _VERSION

if not TYPE_CHECKING:
    __all__ = _public_names(_sys.modules[__name__])  # not written out: an operator may be called `vars`
_load_the_rest_lazily(__name__)


def install_as_torch() -> None:
    """Let `import torch`, anywhere in this process from now on, give Gradwright, and so for its submodules.

    A name of PyTorch that Gradwright does not have can be imported and raises when it is used: it names itself, and
    docs/reports/pytorch.md lists all of them.

    Raises:
        ImportError: PyTorch itself is loaded already.
    """
    from gradwright.as_torch import install

    install()
