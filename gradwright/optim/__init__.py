"""Optimizers and schedules of the learning rate, under PyTorch's names and signatures."""

from __future__ import annotations

from gradwright.optim import lr_scheduler, swa_utils
from gradwright.optim.adadelta import Adadelta
from gradwright.optim.adafactor import Adafactor
from gradwright.optim.adagrad import Adagrad
from gradwright.optim.adam import Adam, AdamW
from gradwright.optim.adamax import Adamax
from gradwright.optim.asgd import ASGD
from gradwright.optim.lbfgs import LBFGS
from gradwright.optim.muon import Muon
from gradwright.optim.nadam import NAdam
from gradwright.optim.optimizer import Optimizer
from gradwright.optim.radam import RAdam
from gradwright.optim.rmsprop import RMSprop
from gradwright.optim.rprop import Rprop
from gradwright.optim.sgd import SGD
from gradwright.optim.sparse_adam import SparseAdam
from gradwright.optim.swapping import swap_in_optimizer_params_and_state

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
