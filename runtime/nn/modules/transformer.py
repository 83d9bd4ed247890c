"""What `nn.modules.transformer` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import transformer
from runtime.nn.modules._holding import own_names

globals().update(own_names(transformer))
