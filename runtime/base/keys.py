"""Dispatch keys: the names under which an operator's kernels stand, and the device types that lead to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

CPU: Final = "CPU"
AUTOGRAD: Final = "Autograd"
COMPOSITE_IMPLICIT: Final = "CompositeImplicitAutograd"
COMPOSITE_EXPLICIT: Final = "CompositeExplicitAutograd"
COMPOSITE_NON_FUNCTIONAL: Final = "CompositeExplicitAutogradNonFunctional"
# The keys that hold for every backend; the first one that an operator has counts where the backend has no kernel.
COMPOSITES: Final = (COMPOSITE_NON_FUNCTIONAL, COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT)
ZERO: Final = "ZeroTensor"

# fmt: off
DEVICES = {
    "cpu": CPU, "cuda": "CUDA", "hip": "HIP", "xla": "XLA", "mps": "MPS", "ipu": "IPU", "xpu": "XPU", "hpu": "HPU",
    "ve": "VE", "lazy": "Lazy", "mtia": "MTIA", "maia": "MAIA", "meta": "Meta", "privateuseone": "PrivateUse1",
    "mkldnn": "MkldnnCPU", "fpga": "FPGA", "vulkan": "Vulkan",
}
_BACKENDS = (
    "CPU", "CUDA", "HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA",
    "PrivateUse1", "PrivateUse2", "PrivateUse3", "Meta",
)
# These hold kernels that can be listed and fetched; no call in this library comes by here.
_FUNCTIONALITIES = (
    "FPGA", "Vulkan", "Metal", "MkldnnCPU", "SparseCPU", "SparseCUDA", "SparseMeta", "SparsePrivateUse1",
    "SparseCsrCPU", "SparseCsrCUDA", "QuantizedCPU", "QuantizedCUDA", "QuantizedMeta", "NestedTensorCPU",
    "NestedTensorCUDA", "BackendSelect", "Python", "FuncTorchDynamicLayerBackMode", "Functionalize", "Named",
    "Conjugate", "Negative", "ZeroTensor", "ADInplaceOrView", "Tracer", "AutocastCPU", "AutocastCUDA", "AutocastXPU",
    "AutocastMPS", "AutocastHPU", "AutocastXLA", "AutocastMTIA", "AutocastMAIA", "AutocastPrivateUse1",
    "FuncTorchBatched", "BatchedNestedTensor", "FuncTorchVmapMode", "Batched", "VmapMode", "FuncTorchGradWrapper",
    "FuncTorchDynamicLayerFrontMode", "PythonTLSSnapshot", "PreDispatch", "PythonDispatcher",
)
# fmt: on
_ALIASES = (
    AUTOGRAD,
    COMPOSITE_IMPLICIT,
    COMPOSITE_EXPLICIT,
    "CompositeImplicitAutogradNestedTensor",
    COMPOSITE_NON_FUNCTIONAL,
)
KEYS: Final = {
    *(*_BACKENDS, *_FUNCTIONALITIES, *_ALIASES),
    *(AUTOGRAD + name for name in (*_BACKENDS, "Other", "NestedTensor")),
}


def add_backend(key: str, device: str) -> None:
    """Let a package bring a backend: its key, that of its autograd kernels, and the name of its device."""
    KEYS.update((key, AUTOGRAD + key))
    DEVICES[device] = key


def device_types() -> tuple[str, ...]:
    """The names of all devices that a key stands for."""
    return tuple(DEVICES)


def check_key(name: str) -> str:
    """`name`, if it is a dispatch key.

    Raises:
        RuntimeError: it is none.
    """
    if name not in KEYS:
        raise RuntimeError(f"could not parse dispatch key: {name}")
    return name


def key_of_device(device: str) -> str:
    """The backend's key for a device type: `CPU` for `cpu`.

    Raises:
        RuntimeError: there is no such device type.
    """
    kind = device.partition(":")[0]
    if kind not in DEVICES:
        raise RuntimeError(f"Expected one of {', '.join(DEVICES)} device type at start of device string: {device}")
    return DEVICES[kind]


class DispatchKeySet:
    """The keys of a call: what kernels registered with `with_keyset` get as their first argument."""

    __slots__ = ("_keys",)

    def __init__(self, *keys: str) -> None:
        self._keys = tuple(check_key(key) for key in keys)

    def has(self, key: str) -> bool:
        """Whether `key` is among them."""
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(self._keys)})"
