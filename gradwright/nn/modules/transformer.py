"""What `nn.modules.transformer` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import transformer
from gradwright.nn.modules._holding import own_names

globals().update(own_names(transformer))
