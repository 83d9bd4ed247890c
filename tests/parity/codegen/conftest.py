"""Tests of what targets write run the compilers of other frameworks, which change what other tests see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _checked_distributions() -> Iterator[None]:
    """`torch.compile` turns the checks of PyTorch's distributions off, for the rest of the process."""
    from torch.distributions import Distribution

    before = Distribution._validate_args
    yield
    Distribution.set_default_validate_args(before)
