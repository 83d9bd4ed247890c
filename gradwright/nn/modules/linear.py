"""What `nn.modules.linear` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import attention, distance, lazy, linear
from gradwright.nn.modules._holding import own_names

globals().update(own_names(attention))
globals().update(own_names(distance))
globals().update(own_names(lazy))
globals().update(own_names(linear))
