"""What `nn.modules.upsampling` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import images
from gradwright.nn.modules._holding import own_names

globals().update(own_names(images))
