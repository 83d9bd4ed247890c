"""Operators of devices that are not there."""

from __future__ import annotations

import pytest

import gradwright
from gradwright import other_devices


@pytest.mark.parametrize("name", other_devices.__all__)
def test_they_have_a_schema(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}.*missing"):
        getattr(gradwright, name)()


def test_they_refuse_tensors_in_main_memory() -> None:
    for _ in range(2):
        with pytest.raises(NotImplementedError, match="Could not run 'aten::cudnn_grid_sampler'"):
            gradwright.cudnn_grid_sampler(gradwright.ones(1), gradwright.ones(1))
    assert str(gradwright.ops.aten.cudnn_grid_sampler.default) == "aten.cudnn_grid_sampler.default"
