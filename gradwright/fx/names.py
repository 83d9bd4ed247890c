"""Names: of functions as code spells them, and of Nodes, which are all different."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from codegen.module_names import PUBLIC_PACKAGE, RUNTIME, short_name
from runtime import ops
from runtime.base import identity
from runtime.base.types import device
from runtime.call.overloads import OpOverload, OpOverloadPacket

# What generated code has under names of its own, besides Python's builtins.
GLOBALS: dict[str, Any] = {
    "inf": float("inf"),
    "nan": float("nan"),
    "NoneType": type(None),
    "device": device,
}
_TAKEN = frozenset((*GLOBALS, "torch", "gradwright", "fx_pytree", "pytree"))

_ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.*)_(\d+)")


class Namespace:
    """Gives names that nothing else has: `add`, then `add_1`."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._used: set[str] = set()
        self._counts: dict[str, int] = defaultdict(int)

    def create_name(self, candidate: str, obj: Any) -> str:
        """A new name for an object, as near as can be to `candidate`; the name that it has, if it has one."""
        if obj is not None and obj in self._names:
            return self._names[obj]
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        numbered = _NUMBERED.fullmatch(candidate)
        base, number = (numbered[1], int(numbered[2])) if numbered else (candidate, 0)
        number = number or self._counts[base]
        while candidate in self._used or not _is_free(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._counts[base] = number
        if obj is not None:
            self._names[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Take note of the object that a name was given for."""
        self._names.setdefault(obj, name)

    def rename_object(self, obj: Any, name: str) -> None:
        """Give an object another name."""
        self._names[obj] = name
        self._used.add(name)


def _is_free(name: str, obj: Any) -> bool:
    """Whether a name means nothing else in Python, nor in generated code."""
    if keyword.iskeyword(name):
        return False
    if name in vars(builtins):
        return obj is vars(builtins)[name]
    return name not in _TAKEN or (name in GLOBALS and obj is GLOBALS[name])


def snake_case(text: str) -> str:
    """`LayerNorm` as `layer_norm`."""
    parts = []
    for i, letter in enumerate(text):
        if letter.isupper() and i > 0 and text[i - 1].islower():
            parts.append("_")
        parts.append(letter.lower())
    return "".join(parts)


# Functions of `nn.functional` that are operators in PyTorch, where they have other names as well.
OPERATORS = frozenset((
    "adaptive_avg_pool1d",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_tbc",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "gelu", "hardshrink", "linear",
    "native_channel_shuffle", "one_hot", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu",
    "scaled_dot_product_attention", "softplus", "softshrink",
))  # fmt: skip
# Functions that are Python's in PyTorch as well, in a module of their own.
IN_PYTHON = frozenset((
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
    "cdist", "einsum", "lu", "meshgrid", "norm", "stft", "tensordot", "unique", "unique_consecutive", "unravel_index",
))  # fmt: skip

# Where the functions of the runtime are looked for, first those that have the names.
_PLACES = ("", "nn.functional", "linalg", "fft", "special")


def public_name(function: Any) -> str | None:
    """What a function or class of the runtime is called in a program: `torch.nn.functional.relu`; None for others."""
    if isinstance(function, (OpOverload, OpOverloadPacket)):
        return f"{identity.name}.ops.{function}"
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        return None
    gradwright = sys.modules["gradwright"]
    for place in _PLACES:
        names = vars(gradwright)
        for part in filter(None, place.split(".")):
            names = vars(names[part])
        for short in (name, name.partition("_")[2]):
            if names.get(short) is function:
                if place == "nn.functional" and short in OPERATORS:
                    return f"{identity.name}.{'' if short in vars(gradwright) else '_C._nn.'}{short}"
                if short in IN_PYTHON and function.__module__ == f"{RUNTIME}.operators.functional":
                    return f"{identity.name}.functional.{short}"
                if place in ("linalg", "fft", "special") and name == f"{place}_{short}":
                    return f"{identity.name}._C._{place}.{name}"
                return ".".join(filter(None, (identity.name, place, short)))
    if vars(ops).get(name) is function:
        return f"{identity.name}._C._nn.{name}"
    module = getattr(function, "__module__", None) or ""
    package, _, rest = short_name(module).partition(".")
    if package == PUBLIC_PACKAGE and getattr(sys.modules[module], name, None) is function:
        return ".".join(filter(None, (identity.name, rest, name)))
    return None


def qualified_name(function: Callable[..., Any]) -> str:
    """The module and name by which code outside of a graph would call a function.

    Raises:
        RuntimeError: it has no module.
    """
    name = getattr(function, "__name__", None) or type(function).__name__
    if getattr(builtins, name, None) is function:
        return name
    known = public_name(function)
    if known is not None:
        return known
    module = getattr(function, "__module__", None)
    if module is None:
        for other, place in list(sys.modules.items()):
            if other != "__main__" and getattr(place, name, None) is function:
                module = other
                break
        else:
            raise RuntimeError(f"cannot find the module of {function}")
    return f"{module}.{name}"


def shown_name(target: Any) -> str:
    """The target of a Node as the text of a graph has it."""
    if isinstance(target, str):
        return target
    module = getattr(target, "__module__", None)
    if hasattr(target, "__name__") and module in ("builtins", "_operator"):
        return f"{module.lstrip('_')}.{target.__name__}"
    return qualified_name(target)
