"""Schedules of the learning rate, under PyTorch's names: each `step` sets `lr` in the groups of an optimizer."""

from __future__ import annotations

from runtime.optim.schedules.base import LRScheduler
from runtime.optim.schedules.combined import ChainedScheduler, SequentialLR
from runtime.optim.schedules.cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from runtime.optim.schedules.factors import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from runtime.optim.schedules.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
