"""Composite operators that the cases of tests/codegen/errors name."""


def square(self):
    return self * self


def twice_square(self):
    square = self * self
    return square + square
