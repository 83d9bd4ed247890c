"""The modules into which PyTorch divides `nn`."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import gradwright
from gradwright import nn


def test_they_hold_the_classes_of_nn() -> None:
    assert nn.modules.conv.Conv2d is nn.modules.Conv2d is nn.Conv2d
    assert nn.modules.rnn.LSTM is nn.LSTM
    assert nn.modules.module.Module is nn.Module
    assert nn.modules.instancenorm.LazyInstanceNorm1d is nn.LazyInstanceNorm1d
    assert not hasattr(nn.modules.conv, "Linear")


def test_base_classes_have_pytorchs_names() -> None:
    assert isinstance(nn.BatchNorm2d(1), nn.modules.batchnorm._BatchNorm)
    assert isinstance(nn.Dropout2d(), nn.modules.dropout._DropoutNd)
    assert isinstance(nn.Conv1d(1, 1, 1), nn.modules.conv._ConvNd)
    assert isinstance(nn.AvgPool2d(2), nn.modules.pooling._AvgPoolNd)
    assert isinstance(nn.MSELoss(), nn.modules.loss._Loss)


def test_they_are_imported_by_their_names() -> None:
    assert importlib.import_module("gradwright.nn.modules.conv") is nn.modules.conv
    assert importlib.import_module("gradwright.nn.modules.conv").Conv2d is nn.Conv2d
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("gradwright.nn.modules.other")


def test_they_are_there_under_the_name_of_torch() -> None:
    program = (
        "import gradwright; gradwright.install_as_torch(); import torch; import torch.nn.modules.loss as loss\n"
        "from torch.nn.modules.batchnorm import _BatchNorm, _NormBase\n"
        "from torch.nn.modules.utils import _pair\n"
        "print(loss.MSELoss is torch.nn.MSELoss, issubclass(torch.nn.BatchNorm1d, _BatchNorm), _pair(3))\n"
        "try: _NormBase(1)\nexcept NotImplementedError as error: print(error)"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == [
        "True True (3, 3)",
        "Gradwright has no 'torch.nn.modules.batchnorm._NormBase': docs/reports/pytorch.md lists what there is",
    ]


def test_one_number_for_each_dimension() -> None:
    utils = nn.modules.utils
    assert (utils._single(2), utils._pair(2), utils._triple(2), utils._quadruple(2)) == (
        (2,), (2, 2), (2, 2, 2), (2, 2, 2, 2),
    )  # fmt: skip
    assert utils._pair([1, 2]) == (1, 2)
    assert utils._ntuple(3, "_three").__name__ == "_three"
    assert gradwright.nn.functional.unfold(gradwright.ones(1, 1, 3, 3), 2).shape == (1, 4, 4)
