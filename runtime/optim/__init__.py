"""Optimizers and schedules of the learning rate, under PyTorch's names and signatures."""

from __future__ import annotations

from runtime.optim import lr_scheduler, swa_utils
from runtime.optim.adadelta import Adadelta
from runtime.optim.adafactor import Adafactor
from runtime.optim.adagrad import Adagrad
from runtime.optim.adam import Adam, AdamW
from runtime.optim.adamax import Adamax
from runtime.optim.asgd import ASGD
from runtime.optim.lbfgs import LBFGS
from runtime.optim.muon import Muon
from runtime.optim.nadam import NAdam
from runtime.optim.optimizer import Optimizer
from runtime.optim.radam import RAdam
from runtime.optim.rmsprop import RMSprop
from runtime.optim.rprop import Rprop
from runtime.optim.sgd import SGD
from runtime.optim.sparse_adam import SparseAdam
from runtime.optim.swapping import swap_in_optimizer_params_and_state

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]
