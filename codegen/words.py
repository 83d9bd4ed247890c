"""The closed sets of words that the YAML files may use: dispatch keys, tags, variants."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

BACKENDS = (
    "CPU", "CUDA", "HIP", "XLA", "MTIA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "Meta",
    "PrivateUse1", "PrivateUse2", "PrivateUse3",
)  # fmt: skip
_FUNCTIONALITIES = ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor")

_OTHER_KEYS = (
    "FPGA", "MAIA", "Vulkan", "Metal", "MKLDNN", "MkldnnCPU", "OpenGL", "OpenCL", "IDEEP", "ZeroTensor",
    "Sparse", "SparseCsr", "NestedTensor", "Dense",
)  # fmt: skip

COMPOSITE_KEYS = frozenset(
    (
        "CompositeImplicitAutograd",
        "CompositeImplicitAutogradNestedTensor",
        "CompositeExplicitAutograd",
        "CompositeExplicitAutogradNonFunctional",
    )
)

CPU_ORDER = (
    "CPU", "CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd", "CompositeImplicitAutograd",
)  # fmt: skip
"""The keys whose kernels serve Tensors on the CPU; the first one that an operator has does."""

KERNEL_KEYS = (
    COMPOSITE_KEYS
    | frozenset(functionality + backend for functionality in _FUNCTIONALITIES for backend in BACKENDS)
    | frozenset(_OTHER_KEYS)
)
"""Keys that a `dispatch:` table in native_functions.yaml may give a kernel for."""

AUTOGRAD_KEYS = frozenset(("AutogradNestedTensor", *("Autograd" + backend for backend in BACKENDS)))
"""Keys that a `dispatch:` block in derivatives.yaml may give formulas for, besides `Default`."""

DEFAULT_KEY = "Default"

STRUCTURED_KEYS = frozenset(("CPU", "CUDA", "MPS", "XPU", "MTIA"))
"""Backends whose kernels a structured operator shares with the operators that delegate to it."""

UFUNC_KEYS = frozenset(("CPU", "CUDA"))
"""Backends whose kernel `ufunc_inner_loop` makes."""

TARGETS = ("python", "cpp")
"""What the generator emits, in the order in which it says so: packages of codegen/targets."""

VARIANTS = ("function", "method")

TAGS = frozenset((
    "core", "cudagraph_unsafe", "data_dependent_output", "dynamic_output_shape", "flexible_layout", "generated",
    "inplace", "inplace_view", "maybe_aliasing_or_mutating", "needs_contiguous_strides", "needs_exact_strides",
    "needs_fixed_stride_order", "nondeterministic_bitwise", "nondeterministic_seeded", "out", "out_variant",
    "pointwise", "pt2_compliant_tag", "reduction", "view_copy",
))  # fmt: skip


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint naming the word of `known` that `word` was most likely meant to be."""
    folded = {candidate.lower(): candidate for candidate in sorted(known)}
    close = difflib.get_close_matches(word.lower(), folded, 1, 0.6)
    return f"did you mean '{folded[close[0]]}'?" if close else None
