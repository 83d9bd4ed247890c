"""What `nn.modules.conv` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import convolution, lazy
from gradwright.nn.modules._holding import own_names

globals().update(own_names(convolution))
globals().update(own_names(lazy))
