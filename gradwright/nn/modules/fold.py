"""What `nn.modules.fold` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import convolution
from gradwright.nn.modules._holding import own_names

globals().update(own_names(convolution))
