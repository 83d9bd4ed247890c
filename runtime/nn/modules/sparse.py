"""What `nn.modules.sparse` holds in PyTorch."""

from __future__ import annotations

from runtime.nn import embedding
from runtime.nn.modules._holding import own_names

globals().update(own_names(embedding))
