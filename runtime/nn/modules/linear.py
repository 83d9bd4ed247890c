"""What `nn.modules.linear` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import attention, distance, lazy, linear
from runtime.nn.modules._holding import own_names

globals().update(own_names(attention))
globals().update(own_names(distance))
globals().update(own_names(lazy))
globals().update(own_names(linear))
