"""Operators of devices that are not there have PyTorch's schemas, and refuse what its CPU refuses."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import gradwright
from gradwright import other_devices


@pytest.mark.parametrize("name", other_devices.__all__)
def test_schemas_are_pytorchs(name: str) -> None:
    theirs = getattr(torch.ops.aten, name).default._schema
    with pytest.raises(TypeError):
        getattr(gradwright, name)()
    mine = getattr(gradwright.ops.aten, name).default._schema
    assert [each.name for each in mine.arguments] == [each.name for each in theirs.arguments]
    assert len(mine.returns) == len(theirs.returns)


def outcome(library: Any, name: str, *args: Any) -> tuple[type[Exception], bool]:
    with pytest.raises((TypeError, NotImplementedError)) as caught:
        getattr(library, name)(*args)
    return caught.type, "cudnn" in str(caught.value) or "batch_norm" in str(caught.value)


def test_they_raise_as_on_pytorchs_cpu() -> None:
    for library in (gradwright, torch):
        x = library.ones(1, 1, 3, 3)
        assert outcome(library, "cudnn_grid_sampler", x, x) == (NotImplementedError, True)
        assert outcome(library, "batch_norm_stats", x, 0.1) == (NotImplementedError, True)
        assert outcome(library, "cudnn_convolution", x)[0] is TypeError
