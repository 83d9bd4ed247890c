"""Optimizers and schedules of the learning rate, under PyTorch's names and signatures."""

from __future__ import annotations

from runtime.optim import lr_scheduler
from runtime.optim.adam import Adam, AdamW
from runtime.optim.optimizer import Optimizer
from runtime.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]
