"""Operators of the plane and of space: `planar.hypot3`, `planar.to_polar`, `planar.charbonnier_loss`."""

from planar._generated import *  # noqa: F403
from planar._generated import __all__ as __all__
