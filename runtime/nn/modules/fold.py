"""What `nn.modules.fold` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import convolution
from runtime.nn.modules._holding import own_names

globals().update(own_names(convolution))
