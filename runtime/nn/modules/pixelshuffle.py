"""What `nn.modules.pixelshuffle` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import images
from runtime.nn.modules._holding import own_names

globals().update(own_names(images))
