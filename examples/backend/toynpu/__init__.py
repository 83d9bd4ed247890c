"""A backend for a toy device: `device="npu"`, and an operator of its own, `toynpu.squareplus(x)`."""

from toynpu._generated import *  # noqa: F403
from toynpu._generated import __all__ as __all__
