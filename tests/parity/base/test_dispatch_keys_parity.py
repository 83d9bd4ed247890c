"""Dispatch keys: all that PyTorch knows, and no others."""

from __future__ import annotations

import torch
import torchgen.model

from codegen.dispatch_keys import KEYS

# What PyTorch has for its own tests alone.
_FOR_TESTS = "TESTING_ONLY_"


# Its generator knows some that its library does not, and the other way round.
OF_THE_GENERATOR = {key.name for key in torchgen.model.DispatchKey if not key.name.startswith(_FOR_TESTS)}


def is_parsed(name: str) -> bool:
    return torch._C._parse_dispatch_key(name) is not None


def test_each_is_one_of_pytorch() -> None:
    assert [name for name in sorted(KEYS) if not is_parsed(name) and name not in OF_THE_GENERATOR] == []
    assert not is_parsed("CPUs")


def test_each_of_pytorch_is_known() -> None:
    assert len(OF_THE_GENERATOR) > 100
    assert set() == OF_THE_GENERATOR - KEYS
