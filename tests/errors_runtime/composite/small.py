"""Composite operators that the cases of tests/errors name."""


def square(self):
    return self * self
