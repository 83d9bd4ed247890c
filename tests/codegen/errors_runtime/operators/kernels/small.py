"""Kernels that the cases of tests/codegen/errors name."""

import numpy as np

mul = np.multiply
sin = np.sin


def add(self, other, alpha=1):
    return self + alpha * other


def mul_number(self, other):
    return self * other


def split(self, split_size, dim=0):
    return [self]


def topk(self, k):
    return self, self


def gather(self, dim, index):
    return np.take_along_axis(self, index, dim)


def flip(self, dim):
    return np.flip(self, dim)


def pick(self, dim):
    return self, self


def conj(self):
    return np.conj(self)


cos = np.cos
