"""Dispatch keys: the names under which kernels and formulas stand, and the devices that lead to them.

The keys are those of PyTorch. The YAML, the operators at run time and `gradwright.library` take theirs from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CPU: Final = "CPU"
META: Final = "Meta"
DEFAULT: Final = "Default"  # in derivatives.yaml: of all backends that have no formulas of their own
AUTOGRAD: Final = "Autograd"
COMPOSITE_IMPLICIT: Final = "CompositeImplicitAutograd"
COMPOSITE_EXPLICIT: Final = "CompositeExplicitAutograd"
COMPOSITE_NON_FUNCTIONAL: Final = "CompositeExplicitAutogradNonFunctional"
ZERO: Final = "ZeroTensor"

# The keys that hold for every backend; the first one that an operator has counts where the backend has no kernel.
COMPOSITES: Final = (COMPOSITE_NON_FUNCTIONAL, COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT)
# The keys whose kernels serve Tensors on the CPU; the first one that an operator has does.
CPU_ORDER: Final = (CPU, *COMPOSITES)
# Those whose functions are on Tensors, and not on arrays.
COMPOSITE_KEYS: Final = frozenset((*COMPOSITES, "CompositeImplicitAutogradNestedTensor"))

# The types of devices by the backends that serve them.
DEVICES: Final[Mapping[str, str]] = {
    "cpu": CPU, "cuda": "CUDA", "hip": "HIP", "xla": "XLA", "mps": "MPS", "ipu": "IPU", "xpu": "XPU", "hpu": "HPU",
    "ve": "VE", "lazy": "Lazy", "mtia": "MTIA", "maia": "MAIA", "meta": "Meta", "privateuseone": "PrivateUse1",
    "mkldnn": "MkldnnCPU", "fpga": "FPGA", "vulkan": "Vulkan",
}  # fmt: skip
BACKENDS: Final = (
    CPU, "CUDA", "HIP", "XLA", "MTIA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "Meta",
    "PrivateUse1", "PrivateUse2", "PrivateUse3",
)  # fmt: skip
# Backends whose kernels a structured operator shares with the operators that delegate to it.
STRUCTURED_BACKENDS: Final = frozenset((CPU, "CUDA", "MPS", "XPU", "MTIA"))
# Backends whose kernel `ufunc_inner_loop` makes.
UFUNC_BACKENDS: Final = frozenset((CPU, "CUDA"))

# Backends of PyTorch that Gradwright has no kernels for, and that a package may bring under their names.
BROUGHT_BY_PACKAGES: Final = frozenset(("CUDA",))

# Kinds of Tensors that each backend has.
_LAYOUTS = ("Quantized", "Sparse", "SparseCsr", "NestedTensor")
_OTHER_KERNELS = (
    "FPGA", "MAIA", "Vulkan", "Metal", "MKLDNN", "MkldnnCPU", "OpenGL", "OpenCL", "IDEEP", ZERO, "Sparse", "SparseCsr",
    "NestedTensor", "Dense",
)  # fmt: skip
# Those that a `dispatch:` table in native_functions.yaml may name a kernel for.
KERNEL_KEYS: Final = frozenset(
    (*COMPOSITE_KEYS, *(layout + backend for layout in ("", *_LAYOUTS) for backend in BACKENDS), *_OTHER_KERNELS)
)
# Those that a `dispatch:` block in derivatives.yaml may have formulas for, besides the default.
AUTOGRAD_KEYS: Final = frozenset(AUTOGRAD + each for each in (*BACKENDS, "NestedTensor"))
# Those that hold kernels which can be registered, listed and fetched; no call in this library comes by here.
_PASSED_BY = (
    "Undefined", "BackendSelect", "Python", "FuncTorchDynamicLayerBackMode", "Functionalize", "Named", "Conjugate",
    "Negative", "ADInplaceOrView", "Tracer", "FuncTorchBatched", "FuncTorchBatchedDecomposition",
    "BatchedNestedTensor", "FuncTorchVmapMode", "Batched", "VmapMode", "FuncTorchGradWrapper",
    "FuncTorchDynamicLayerFrontMode", "PythonTLSSnapshot", "PreDispatch", "PythonDispatcher", "CustomRNGKeyId",
    "AutogradFunctionality", "Autocast", "AutocastCPU", "AutocastCUDA", "AutocastXPU", "AutocastMPS", "AutocastIPU",
    "AutocastHPU", "AutocastXLA", "AutocastMTIA", "AutocastMAIA", "AutocastPrivateUse1",
)  # fmt: skip
KEYS: Final = KERNEL_KEYS | AUTOGRAD_KEYS | {AUTOGRAD, f"{AUTOGRAD}Other", *_PASSED_BY}
