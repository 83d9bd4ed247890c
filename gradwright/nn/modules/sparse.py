"""What `nn.modules.sparse` holds in PyTorch."""

from __future__ import annotations

from gradwright.nn import embedding
from gradwright.nn.modules._holding import own_names

globals().update(own_names(embedding))
