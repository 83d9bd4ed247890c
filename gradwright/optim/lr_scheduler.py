"""Schedules of the learning rate, under PyTorch's names: each `step` sets `lr` in the groups of an optimizer."""

from __future__ import annotations

from gradwright.optim.schedules.base import LRScheduler
from gradwright.optim.schedules.combined import ChainedScheduler, SequentialLR
from gradwright.optim.schedules.cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from gradwright.optim.schedules.factors import (
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
from gradwright.optim.schedules.plateau import ReduceLROnPlateau

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
