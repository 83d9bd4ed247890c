"""Operators of PyTorch's `torch.special`, put here when the generated code is loaded."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generated._special import *  # noqa: F403
