"""Dispatch keys: the names under which an operator's kernels stand, and the device types that lead to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from codegen import dispatch_keys
from codegen.dispatch_keys import AUTOGRAD

# Packages add theirs to these.
DEVICES = dict(dispatch_keys.DEVICES)
KEYS: Final = set(dispatch_keys.KEYS)


def is_free(key: str, device: str) -> bool:
    """Whether a package may bring a backend: its key and device are new, or are PyTorch's alone."""
    if key in dispatch_keys.BROUGHT_BY_PACKAGES:
        return DEVICES.get(device) == key
    return key not in KEYS and device not in DEVICES


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
