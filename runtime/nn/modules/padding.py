"""What `nn.modules.padding` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import padding
from runtime.nn.modules._holding import own_names

globals().update(own_names(padding))
