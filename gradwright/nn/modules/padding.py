"""What `nn.modules.padding` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import padding
from gradwright.nn.modules._holding import own_names

globals().update(own_names(padding))
