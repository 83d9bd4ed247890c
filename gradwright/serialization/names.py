"""What the things in a file are called: PyTorch's names, so that each library reads the files of the other."""

from __future__ import annotations

import codecs
import collections
import sys
from collections.abc import Callable
from typing import Any

from gradwright.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from gradwright.serialization import rebuilding
from runtime.base import dtypes, types
from runtime.base.storage import UntypedStorage
from runtime.base.tensor import Tensor
from runtime.base.types import DType
from runtime.devices import wrapper

# The storages of PyTorch by the dtype of their elements; those of other dtypes are bytes, and say the dtype elsewhere.
STORAGES: dict[str, DType] = {
    "BFloat16Storage": dtypes.bfloat16,
    "BoolStorage": dtypes.bool,
    "ByteStorage": dtypes.uint8,
    "CharStorage": dtypes.int8,
    "ComplexDoubleStorage": dtypes.complex128,
    "ComplexFloatStorage": dtypes.complex64,
    "DoubleStorage": dtypes.float64,
    "FloatStorage": dtypes.float32,
    "HalfStorage": dtypes.float16,
    "IntStorage": dtypes.int32,
    "LongStorage": dtypes.int64,
    "ShortStorage": dtypes.int16,
}
STORAGE_OF_DTYPE = {kind: name for name, kind in STORAGES.items()}

CLASSES: dict[type, tuple[str, str]] = {
    Tensor: ("torch", "Tensor"),
    Parameter: ("torch.nn.parameter", "Parameter"),
    Buffer: ("torch.nn.parameter", "Buffer"),
    UninitializedParameter: ("torch.nn.parameter", "UninitializedParameter"),
    UninitializedBuffer: ("torch.nn.parameter", "UninitializedBuffer"),
    UntypedStorage: ("torch.storage", "UntypedStorage"),
    types.Size: ("torch", "Size"),
    types.Device: ("torch", "device"),
}

REBUILDING: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": rebuilding.tensor,
    "torch._utils._rebuild_tensor_v2": rebuilding.tensor_v2,
    "torch._utils._rebuild_tensor_v3": rebuilding.tensor_v3,
    "torch._utils._rebuild_parameter": rebuilding.parameter,
    "torch._utils._rebuild_parameter_with_state": rebuilding.parameter_with_state,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuilding.meta_tensor,
    "torch._utils._rebuild_sparse_tensor": rebuilding.sparse_tensor,
    "torch._utils._rebuild_wrapper_subclass": wrapper.rebuild,
    "torch._tensor._rebuild_from_type_v2": rebuilding.from_type,
}

# What a file may name: nothing of it does more than to make a value out of its arguments.
ALLOWED: dict[str, Any] = {
    "collections.OrderedDict": collections.OrderedDict,
    "collections.Counter": collections.Counter,
    "_codecs.encode": codecs.encode,
    "builtins.bytearray": bytearray,
    "builtins.set": set,
    "builtins.complex": complex,
    "torch.serialization._get_layout": rebuilding.layout,
    **{f"torch.{kind.name}": kind for kind in dtypes.EVERY_DTYPE},
    **{f"torch.{name}": rebuilding.StorageKind(kind) for name, kind in STORAGES.items()},
    "torch.storage.UntypedStorage": rebuilding.StorageKind(dtypes.uint8),
    **{".".join(name): kind for kind, name in CLASSES.items() if kind is not UntypedStorage},
    **REBUILDING,
}


def ours(module: str, name: str) -> Any:
    """What a name of PyTorch's means here; None for one of others.

    Only for files that are trusted: a name may be that of any function.
    """
    full = f"{module}.{name}"
    if full in ALLOWED:
        return ALLOWED[full]
    if module.partition(".")[0] != "torch":
        return None
    found: Any = sys.modules["gradwright"]
    # Modules that define classes of `nn` are named otherwise there; the classes are not.
    path = ["nn"] if module.startswith("torch.nn.modules.") else module.split(".")[1:]
    for part in (*path, *name.split(".")):
        found = getattr(found, part, None)
    return found
